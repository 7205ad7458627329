<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * What the server asks of the pools of this worker.
 *
 * @internal
 */
final class PoolReports
{
    /**
     * The statistics of each pool of this worker.
     *
     * @internal called by the server, for its metrics and its status
     * @return array<string, array<string, mixed>>
     */
    public static function poolStats(): array
    {
        return \Hearth\Pool\Pools::stats();
    }

    /**
     * Tells the server how each pool of this worker is, as JSON.
     *
     * @internal called by the server, in a task, for metrics or status
     */
    public static function reportPools(float $unused): void
    {
        report(\json_encode(\Hearth\Pool\Pools::report(), \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PRESERVE_ZERO_FRACTION | \JSON_PARTIAL_OUTPUT_ON_ERROR));
    }

    /**
     * Closes the connections of a task that a fatal error ended: they may be in the middle of anything, and no other code closes them.
     *
     * @internal called by the server, in a task, before a task goes on that shares them
     */
    public static function taskBroke(float $task): void
    {
        \Hearth\Pool\Pools::taskBroke((int) $task);
    }

    /**
     * Closes all pools of this worker, so that the databases are told; waits $seconds at most for connections that are out.
     *
     * @internal called by the server, in a task, when a worker has answered its last request
     */
    public static function closePools(float $timeout): void
    {
        \Hearth\Pool\Pools::close($timeout);
    }
}
