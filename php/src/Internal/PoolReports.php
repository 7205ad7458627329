<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Questions of the server to the pools of this worker.
 *
 * @internal
 */
final class PoolReports
{
    /**
     * Returns the statistics of each pool of this worker.
     *
     * @internal called by the server, for its metrics and its status
     * @return array<string, array<string, mixed>>
     */
    public static function poolStats(): array
    {
        return \Hearth\Pool\Pools::stats();
    }

    /**
     * Reports the state of each pool of this worker to the server, as JSON.
     *
     * @internal called by the server, in a task, for metrics or status
     */
    public static function reportPools(float $unused): void
    {
        report(\json_encode(\Hearth\Pool\Pools::report(), \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PRESERVE_ZERO_FRACTION | \JSON_PARTIAL_OUTPUT_ON_ERROR));
    }

    /**
     * Closes the connections of a task that a fatal error ended: they may be in any state, and no other code closes them.
     *
     * @internal called by the server, in a task, before another task that shares them goes on
     */
    public static function taskBroke(float $task): void
    {
        \Hearth\Pool\Pools::taskBroke((int) $task);
    }

    /**
     * Closes all pools of this worker, so that the databases see it; waits $seconds at most for borrowed connections.
     *
     * @internal called by the server, in a task, when a worker has answered its last request
     */
    public static function closePools(float $timeout): void
    {
        \Hearth\Pool\Pools::close($timeout);
    }
}
