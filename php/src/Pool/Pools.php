<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The pools of this worker, for metrics.
 *
 * @internal
 */
final class Pools
{
    /** @var array<string, \WeakReference<Pool>> by name */
    private static array $pools = [];

    private static int $unnamed = 0;

    public static function nextName(): string
    {
        return 'pool' . ++self::$unnamed;
    }

    public static function add(string $name, Pool $pool): void
    {
        self::$pools[$name] = \WeakReference::create($pool);
    }

    public static function remove(string $name, Pool $pool): void
    {
        if ((self::$pools[$name] ?? null)?->get() === $pool) {
            unset(self::$pools[$name]);
        }
    }

    /** Closes all, and waits for connections that are out. */
    public static function close(float $timeout): void
    {
        $until = \Hearth\Internal\monotonic() + $timeout;
        foreach (self::$pools as $reference) {
            $reference->get()?->close(\max(0.0, $until - \Hearth\Internal\monotonic()));
        }
    }

    /** @return array<string, array<string, mixed>> what each pool's `stats()` says */
    public static function stats(): array
    {
        $stats = [];
        foreach (self::$pools as $name => $reference) {
            $pool = $reference->get();
            if ($pool === null) {
                unset(self::$pools[$name]);
            } else {
                $stats[$name] = $pool->stats();
            }
        }

        return $stats;
    }
}
