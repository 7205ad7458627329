<?php

// Everything that can be called: functions and methods of extensions, and operators.

// The calls convert their arguments.
declare(strict_types=0);

final class Targets
{
    /** @return list<string> cases: "TARGET POSITION KIND"; position 0 is the object */
    public static function cases(): array
    {
        $cases = [];
        $excluded = self::excluded();
        foreach (get_defined_functions()['internal'] as $name) {
            if (!preg_match($excluded, $name)) {
                $cases = [...$cases, ...self::positions($name, (new ReflectionFunction($name))->getParameters())];
            }
        }
        foreach (self::classes() as $class) {
            foreach ($class->getMethods() as $method) {
                $name = "$class->name::$method->name";
                if ($method->isPublic() && !$method->isDestructor() && !preg_match($excluded, $name) && self::isOwn($method, $class)) {
                    $cases = [...$cases, ...self::positions($name, $method->getParameters()), ...($method->isStatic() ? [] : self::objects($name, $class))];
                }
            }
        }
        return array_merge($cases, self::operators($excluded));
    }

    /** Methods that a class inherits are called for the class that declares them, and where the class is of another kind. */
    private static function isOwn(ReflectionMethod $method, ReflectionClass $class): bool
    {
        $declares = $method->getDeclaringClass();
        return $declares->name === $class->name || $declares->isAbstract() || $declares->isInterface() || in_array($class->name, ['SplMinHeap', 'RecursiveArrayIterator'], true);
    }

    /** @return list<string> */
    private static function objects(string $name, ReflectionClass $class): array
    {
        return $class->isInstantiable() || Closure::class === $class->name || Generator::class === $class->name
            ? ["$name 0 of:$class->name", ...($class->isFinal() ? [] : ["$name 0 waiting:$class->name"])] : [];
    }

    /** @param list<ReflectionParameter> $parameters */
    private static function positions(string $name, array $parameters): array
    {
        $cases = [];
        foreach ($parameters as $parameter) {
            foreach (Values::kinds($parameter) as $kind) {
                $cases[] = "$name " . $parameter->getPosition() + 1 . " $kind";
            }
        }
        return $cases;
    }

    /** @return list<string> */
    private static function operators(string $excluded): array
    {
        $kinds = ['text', 'texts', 'arrays', 'nodes', 'magics', 'callables', 'deadly', 'magic', 'node', 'asleep', 'steps', 'generator', 'callable', 'deprecated', 'class', 'stream'];
        foreach (self::classes() as $class) {
            if (!preg_match($excluded, "$class->name::") && !$class->isAbstract() && !$class->isInterface() && !$class->isEnum()) {
                $kinds[] = "of:$class->name";
                $class->isFinal() || $kinds[] = "waiting:$class->name";
            }
        }
        $cases = [];
        foreach (array_keys(Operators::all()) as $name) {
            foreach ($kinds as $kind) {
                $cases[] = "operator:$name 1 $kind";
            }
        }
        return $cases;
    }

    /** @return list<ReflectionClass> */
    private static function classes(): array
    {
        $classes = array_map(static fn ($name) => new ReflectionClass($name), get_declared_classes());
        return array_values(array_filter($classes, static fn ($class) => $class->isInternal()));
    }

    private static function excluded(): string
    {
        $names = [];
        foreach (file(__DIR__ . '/excluded', FILE_IGNORE_NEW_LINES | FILE_SKIP_EMPTY_LINES) as $line) {
            $line[0] === '#' || $names[] = explode(' ', $line, 2)[0];
        }
        return '/^(' . implode('|', $names) . ')$/i';
    }

    /** Makes what the call is made with. Returns the call. */
    public static function prepare(string $target, int $position, string $kind): Closure
    {
        if (str_starts_with($target, 'operator:')) {
            Act::$inner = ['i' => new Text(), 'k' => str_repeat('k', 40)];
            Act::$value = Values::special($kind);
            Act::$second = Values::like($kind);
            return Operators::all()[substr($target, 9)];
        }
        [$class, $name] = str_contains($target, '::') ? explode('::', $target) : [null, $target];
        $function = $class ? new ReflectionMethod($class, $name) : new ReflectionFunction($name);
        if ($class && !$function->isStatic()) {
            Act::$object = $position === 0 ? Values::special($kind) : Objects::of($class);
        }
        self::arguments($function->getParameters(), max($function->getNumberOfRequiredParameters(), $position), $position, $kind);
        return match (true) {
            !$class => static fn () => $name(...Act::$args),
            $function->isStatic() => static fn () => $class::$name(...Act::$args),
            default => static fn () => Act::$object->$name(...Act::$args),
        };
    }

    /** Functions that get arrays and then callables: how many of these. */
    private static function callables(string $name): int
    {
        return preg_match('/^array_(u?)(diff|intersect)(_u|_ukey)?(assoc|key)?$/', $name, $parts) ? ($parts[1] !== '') + (($parts[3] ?? '') !== '' && $parts[3][1] === 'u') : 0;
    }

    /** @param list<ReflectionParameter> $parameters */
    private static function arguments(array $parameters, int $count, int $position, string $kind): void
    {
        $places = [];
        foreach (array_slice($parameters, 0, $count) as $i => $parameter) {
            $places[$i] = $i + 1 === $position ? Values::special($kind) : Values::usual($parameter);
        }
        if (($callables = self::callables(($parameters[0] ?? null)?->getDeclaringFunction()->name ?? '')) && $position === 1) {
            $places = [...$places, Values::special($kind), ...array_fill(0, $callables, Values::special('callable'))];
        }
        Act::$places = $places;
        Act::$args = [];
        foreach ($places as $i => $ignored) {
            if (isset($parameters[$i]) && $parameters[$i]->isPassedByReference()) {
                Act::$args[$i] = &Act::$places[$i];
            } else {
                Act::$args[$i] = $places[$i];
                unset(Act::$places[$i]);
            }
        }
    }
}
