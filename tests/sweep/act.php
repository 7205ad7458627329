<?php

// What a call is made with, and what another task does to that while the call waits.

declare(strict_types=1);

final class Act
{
    public const ACTIONS = ['drop', 'empty', 'replace', 'grow', 'methods', 'same', 'again', 'cancel', 'throw'];
    private const CHANGES = '/^(set|add|remove|clear|exchange|append|push|pop|shift|unshift|insert|extract|next|prev|rewind|reset|close|free|seek|attach|detach|offset'
        . '(Set|Unset)|load|sort|[a-z]sort|delete|replace|normalize|open|__construct|__unserialize|modify|fetch|read|split|update|finish|end|import|change|flush)/i';

    public static ?Hearth\Task $task = null;
    /** The arguments; those by reference are references to places. */
    public static array $args = [];
    public static array $places = [];
    /** The object of a method. */
    public static ?object $object = null;
    /** The operand of an operator, and what else it uses. */
    public static $value;
    public static $second;
    /** A reference in each array. */
    public static $inner;
    private static array $seen = [];

    public static function clear(): void
    {
        [self::$args, self::$places, self::$object, self::$value, self::$second] = [[], [], null, null, null];
        self::$inner = null;
        self::$seen = [];
    }

    /** Runs `$make` with arguments of its own. */
    public static function apart(Closure $make): void
    {
        $held = [self::$args, self::$places, self::$object, self::$value, self::$second];
        $inner = &self::$inner;
        self::$inner = &$own;
        try {
            $make()();
        } finally {
            [self::$args, self::$places, self::$object, self::$value, self::$second] = $held;
            self::$inner = &$inner;
        }
    }

    public static function run(string $action, Closure $call, Closure $make): void
    {
        try {
            match ($action) {
                'none', 'throw' => null,
                'drop' => self::clear(),
                'same' => $call(),
                'again' => self::apart($make),
                'cancel' => self::$task?->cancel(),
                default => self::change($action),
            };
        } catch (Throwable) {
        }
        self::spray();
    }

    /** Takes the memory that has been freed. */
    private static function spray(): void
    {
        for ($n = 0; $n < 150; $n++) {
            $own[] = str_repeat('A', 8 + 8 * $n % 500);
            $own[] = [$n, "n$n", $n];
            $own[] = new Node($n);
        }
    }

    private static function change(string $how): void
    {
        self::$seen = [];
        foreach ([self::$object, self::$value, self::$second, self::$args, self::$places, self::$inner] as $value) {
            self::inside($value, $how, 0);
        }
        foreach (self::$places as $i => $ignored) {
            self::$places[$i] = self::other(self::$places[$i], $how);
        }
        self::$inner = self::other(self::$inner, $how);
        if ($how !== 'methods') {
            self::$value = self::other(self::$value, $how);
        }
    }

    private static function other($value, string $how)
    {
        if ($how === 'methods') {
            return $value;
        }
        if (is_array($value) && $how === 'grow') {
            for ($n = 0; $n < 60; $n++) {
                $value["g$n"] = $n;
            }
            return $value;
        }
        return $how === 'grow' ? $value : ($how === 'empty' ? (is_array($value) ? [] : null) : str_repeat('r', 50));
    }

    private static function inside($value, string $how, int $depth): void
    {
        if (is_array($value) && $depth < 5) {
            foreach ($value as $element) {
                self::inside($element, $how, $depth + 1);
            }
        } elseif (is_object($value) && !isset(self::$seen[spl_object_id($value)])) {
            self::$seen[spl_object_id($value)] = $value;
            $depth < 5 && self::inside(self::properties($value), $how, $depth + 1);
            $how === 'methods' ? self::methods($value) : self::write($value, $how);
        } elseif (is_resource($value) && $how === 'methods') {
            self::stream($value);
        } elseif (is_resource($value) && $how !== 'grow') {
            get_resource_type($value) === 'stream' && fclose($value);
        }
    }

    private static function properties(object $object): array
    {
        return $object instanceof Closure || $object instanceof Generator ? [] : self::bound($object, static fn ($it) => get_object_vars($it));
    }

    private static function bound(object $object, Closure $closure): mixed
    {
        $class = (new ReflectionClass($object))->isInternal() ? null : $object::class;
        return ($class ? Closure::bind($closure, null, $class) : $closure)($object);
    }

    private static function write(object $object, string $how): void
    {
        self::bound($object, static function ($it) use ($how): void {
            foreach (get_object_vars($it) as $name => $value) {
                try {
                    match ($how) {
                        'empty' => is_array($value) ? $it->$name = [] : $it->$name = null,
                        'replace' => is_array($value) ? $it->$name = ['r' => str_repeat('r', 50)] : $it->$name = str_repeat('r', 50),
                        'grow' => is_array($value) ? ($it->$name += array_fill(50, 60, $name)) : null,
                    };
                } catch (Throwable) {
                }
                try {
                    if ($how === 'empty') {
                        unset($it->$name);
                    }
                } catch (Throwable) {
                }
            }
            for ($n = 0; $how === 'grow' && $n < 30 && !$it instanceof Magic; $n++) {
                try {
                    $it->{"grown$n"} = $n;
                } catch (Throwable) {
                    return;
                }
            }
        });
    }

    /** Calls the methods of a class of an extension that change its objects. */
    private static function methods(object $object): void
    {
        if ($object instanceof Generator) {
            $object->next();
        }
        foreach (get_class_methods($object) as $name) {
            $method = new ReflectionMethod($object, $name);
            $internal = $method->isInternal() ? $method : ($method->hasPrototype() ? $method->getPrototype() : null);
            if (!$internal?->isInternal() || $method->isStatic() || !preg_match(self::CHANGES, $name)) {
                continue;
            }
            try {
                $object->$name(...array_map([Values::class, 'usual'], array_slice($internal->getParameters(), 0, $internal->getNumberOfRequiredParameters())));
            } catch (Throwable) {
            }
        }
    }

    private static function stream($stream): void
    {
        $changes = [
            static fn () => fwrite($stream, 'more'), static fn () => fseek($stream, 1), static fn () => fread($stream, 2), static fn () => ftruncate($stream, 0),
            static fn () => stream_set_chunk_size($stream, 3), static fn () => stream_filter_remove(stream_filter_append($stream, 'string.rot13')),
            static fn () => stream_set_read_buffer($stream, 0), static fn () => stream_context_set_option($stream, 'a', 'b', 1), static fn () => fclose($stream),
        ];
        foreach ($changes as $change) {
            try {
                $change();
            } catch (Throwable) {
            }
        }
    }
}
