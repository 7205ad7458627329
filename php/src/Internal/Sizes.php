<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * The number of elements of each array that outlives a request, and of everything else that is counted, by its place.
 *
 * It walks statics, globals and the handler, from object to object, and runs no code of the app. Near places
 * come first, so that each array has a short name.
 *
 * @internal
 */
final class Sizes
{
    /** The most arrays and objects that are walked. */
    private const MOST = 200_000;

    private const COUNTED = [
        \ArrayObject::class, \ArrayIterator::class, \SplObjectStorage::class, \SplDoublyLinkedList::class, \SplHeap::class,
        \SplPriorityQueue::class, \SplFixedArray::class, \WeakMap::class,
    ];

    /** @var array<string, int> */
    private array $sizes = [];

    /** @var list<array{string, array<mixed>|object}> */
    private array $queue = [];

    /** @var array<int, true> */
    private array $seen = [];

    /** @return array<string, int> */
    public function of(\Closure $handler): array
    {
        $this->definitions();
        $this->closure('the handler: ', $handler);
        $this->globals();
        $this->functions();
        \array_map($this->classStatics(...), \array_filter(\get_declared_classes(), static fn (string $class): bool => !\str_starts_with($class, 'Hearth\\')));
        for ($next = 0; isset($this->queue[$next]) && $next < self::MOST; $next++) {
            [$place, $value] = $this->queue[$next];
            unset($this->queue[$next]);
            \is_array($value) ? $this->elements($place, $value) : $this->object($place, $value);
        }

        return $this->sizes;
    }

    private function definitions(): void
    {
        $this->sizes['classes'] = \count(\get_declared_classes());
        $this->sizes['functions'] = \count(\get_defined_functions()['user']);
        $this->sizes['constants'] = \count(\get_defined_constants());
        $this->sizes['included files'] = \count(\get_included_files());
        $this->sizes['autoloaders (spl_autoload_register())'] = \count(\spl_autoload_functions());
    }

    private function globals(): void
    {
        $this->sizes['global variables'] = \count($GLOBALS);
        foreach ($GLOBALS as $name => $value) {
            $this->add("global variable \$$name", $value);
        }
    }

    private function functions(): void
    {
        foreach (\get_defined_functions()['user'] as $name) {
            $this->statics("$name()", new \ReflectionFunction($name));
        }
    }

    private function statics(string $name, \ReflectionFunctionAbstract $function): void
    {
        try {
            $variables = $function->getStaticVariables();
        } catch (\Throwable) {
            return; // A value that is not constant and cannot be evaluated now.
        }
        foreach ($variables as $variable => $value) {
            $this->add("static variable \$$variable of $name", $value);
        }
    }

    /** @param class-string $name */
    private function classStatics(string $name): void
    {
        $class = new \ReflectionClass($name);
        if ($class->isInternal()) {
            return;
        }
        foreach ($class->getProperties(\ReflectionProperty::IS_STATIC) as $property) {
            if ($property->class === $name && $property->isInitialized()) {
                $this->add("static property {$this->shown($name)}::\${$property->name}", $property->getValue());
            }
        }
        foreach ($class->getMethods() as $method) {
            if ($method->class === $name && !$method->isAbstract()) {
                $this->statics("{$this->shown($name)}::{$method->name}()", $method);
            }
        }
    }

    private function add(string $place, mixed $value): void
    {
        if (\is_array($value) || \is_object($value)) {
            $this->queue[] = [$place, $value];
        }
    }

    /** @param array<mixed> $array */
    private function elements(string $place, array $array): void
    {
        $this->sizes[$place] = \count($array);
        foreach ($array as $key => $value) {
            $this->add(\is_int($key) ? "{$place}[$key]" : "{$place}['$key']", $value);
        }
    }

    private function object(string $place, object $object): void
    {
        $id = \spl_object_id($object);
        if (isset($this->seen[$id])) {
            return;
        }
        $this->seen[$id] = true;
        match (true) {
            $object instanceof \Closure => $this->closure("$place: ", $object),
            default => $this->properties($place, $object, new \ReflectionClass($object)),
        };
    }

    private function closure(string $place, \Closure $closure): void
    {
        $function = new \ReflectionFunction($closure);
        foreach ($function->isInternal() ? [] : $function->getStaticVariables() as $name => $value) {
            $this->add("$place\$$name", $value);
        }
        $this->add("$place\$this", $function->getClosureThis());
    }

    /** @param \ReflectionClass<object> $class */
    private function properties(string $place, object $object, \ReflectionClass $class): void
    {
        for ($native = $class; $native && !$native->isInternal(); $native = $native->getParentClass()) {
        }
        if ($native && \array_filter(self::COUNTED, static fn (string $counted): bool => $object instanceof $counted)) {
            $this->counted($place, $object, $class);
        }
        $isLazy = \method_exists($class, 'isUninitializedLazyObject') && $class->isUninitializedLazyObject($object);
        if ($isLazy || ($native && $native->name !== \stdClass::class)) {
            return;
        }
        foreach ((array) $object as $name => $value) {
            $name = (string) $name;
            $this->add("$place->" . \substr($name, (int) \strrpos("\0$name", "\0")), $value);
        }
    }

    /** @param \ReflectionClass<object> $class */
    private function counted(string $place, object $object, \ReflectionClass $class): void
    {
        if ($class->getMethod('count')->getDeclaringClass()->isInternal()) {
            $this->sizes["$place (" . $this->shown($class->name) . ')'] = \count($object);
        }
        if ($object::class === \ArrayObject::class) {
            $this->add($place, $object->getArrayCopy());
        }
    }

    /** Returns the name of a class, for an anonymous one without its file and number. */
    private function shown(string $class): string
    {
        return \strstr($class, "\0", true) ?: $class;
    }
}
