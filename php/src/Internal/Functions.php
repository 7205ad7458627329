<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\TimeoutError;
use Hearth\Timer;

/**
 * The functions of `Hearth\` that are made of tasks. The server's own functions of these names call the methods, so
 * that this class is compiled only where one of them is called.
 *
 * @internal
 */
final class Functions
{
    /**
     * @template T
     * @param array<array-key, callable(): T> $callables
     * @param int|null $limit number of callables that may run at once, null = all
     * @return array<array-key, T>
     * @throws \Throwable the first failure
     */
    public static function parallel(array $callables, ?int $limit = null): array
    {
        if ($limit !== null && $limit < 1) {
            throw new \ValueError("parallel(): the limit must be 1 or more, $limit given");
        }
        self::requireCallables('parallel', $callables);

        return $callables === [] ? [] : (new Group())->all($callables, $limit ?? \PHP_INT_MAX);
    }

    /**
     * @template T
     * @param non-empty-array<array-key, callable(): T> $callables
     * @return T
     * @throws \Throwable the exception of the first that ended
     */
    public static function race(array $callables): mixed
    {
        if ($callables === []) {
            throw new \ValueError('race(): there must be at least one callable');
        }
        self::requireCallables('race', $callables);

        return (new Group())->first($callables);
    }

    /**
     * @template T
     * @param callable(): T $fn
     * @return T
     * @throws TimeoutError
     */
    public static function timeout(float $seconds, callable $fn): mixed
    {
        if (!($seconds >= 0)) {
            throw new \ValueError("timeout(): the time must be 0 or more seconds, $seconds given");
        }
        if (!(new Group())->within($seconds, $fn, $result)) {
            throw new TimeoutError("the function did not end within $seconds s");
        }

        return $result;
    }

    /**
     * @param float $seconds more than 0
     */
    public static function every(float $seconds, callable $fn): Timer
    {
        if (!($seconds > 0) || \is_infinite($seconds)) {
            throw new \ValueError("every(): the interval must be more than 0 seconds, $seconds given");
        }

        return new Timer(every($seconds, $fn));
    }

    /**
     * @param float $seconds 0 or more
     */
    public static function after(float $seconds, callable $fn): Timer
    {
        if (!($seconds >= 0) || \is_infinite($seconds)) {
            throw new \ValueError("after(): the time must be 0 or more seconds, $seconds given");
        }

        return new Timer(after($seconds, $fn));
    }

    /**
     * @param array<array-key, mixed> $callables
     * @throws \TypeError that names the first item that cannot be called
     */
    private static function requireCallables(string $function, array $callables): void
    {
        foreach ($callables as $key => $item) {
            if (!$item instanceof \Closure && !\is_callable($item)) {
                throw new \TypeError("$function(): item " . \var_export($key, true) . ' is not callable, but ' . \get_debug_type($item));
            }
        }
    }
}
