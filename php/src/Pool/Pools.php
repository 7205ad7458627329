<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * The pools of this worker: for metrics, and for the end of tasks and of the worker.
 *
 * @internal
 */
final class Pools
{
    /** @var array<int, \WeakReference<Pool>> by the id of the object; several may have one name */
    private static array $pools = [];

    private static int $unnamed = 0;

    public static function nextName(): string
    {
        return 'pool' . ++self::$unnamed;
    }

    public static function add(Pool $pool): void
    {
        self::$pools[\spl_object_id($pool)] = \WeakReference::create($pool);
    }

    public static function remove(Pool $pool): void
    {
        unset(self::$pools[\spl_object_id($pool)]);
    }

    /** Closes all pools, and waits for lent connections. */
    public static function close(float $timeout): void
    {
        $until = \Hearth\Internal\monotonic() + $timeout;
        foreach (self::all() as $pool) {
            $pool->close(\max(0.0, $until - \Hearth\Internal\monotonic()));
        }
    }

    /** Called when a fatal error ended a task, whatever the task was doing. */
    public static function taskBroke(int $task): void
    {
        foreach (self::all() as $pool) {
            $pool->taskBroke($task, Internal\effectiveTask($task));
        }
    }

    /** Called when a wait for an answer of what ran for a task was interrupted. */
    public static function taskInterrupted(int $task): void
    {
        foreach (self::all() as $pool) {
            $pool->leases()->interrupt($task);
        }
    }

    /**
     * @return array<string, array<string, mixed>> the `stats()` of each pool, by name; a second pool of a name is `NAME #2`
     */
    public static function stats(): array
    {
        $stats = [];
        foreach (self::all() as $pool) {
            $key = $name = $pool->name();
            for ($n = 2; isset($stats[$key]); ++$n) {
                $key = "$name #$n";
            }
            $stats[$key] = $pool->stats();
        }

        return $stats;
    }

    /** @return list<array<string, mixed>> what the server shows of each pool */
    public static function report(): array
    {
        return \array_map(static fn (Pool $pool) => $pool->report(), self::all());
    }

    /** @return list<Pool> the pools that still exist */
    private static function all(): array
    {
        $pools = [];
        foreach (self::$pools as $id => $reference) {
            $pool = $reference->get();
            if ($pool === null) {
                unset(self::$pools[$id]);
            } else {
                $pools[] = $pool;
            }
        }

        return $pools;
    }
}
