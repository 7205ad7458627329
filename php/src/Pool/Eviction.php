<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * How a connection leaves a pool: at once, or when its borrower gives it back.
 *
 * @internal
 */
final class Eviction
{
    private Leases $leases;
    private Connector $connector;

    public function __construct(private readonly Store $store, private readonly Statistics $statistics)
    {
    }

    /** What it acts on in this process. */
    public function begin(Leases $leases, Connector $connector): void
    {
        $this->leases = $leases;
        $this->connector = $connector;
    }

    /** The connection is not lent again: an idle one is closed now, one that is lent when it comes back. */
    public function evict(Entry $entry, string $reason): void
    {
        $entry->doomed ??= $reason;
        if ($this->store->reserve($entry)) {
            $this->close($entry, $reason);
        }
    }

    /** Lets a borrower that waits have a connection that the pool has in its hands, unless it must not be lent again. */
    public function settle(Entry $entry): void
    {
        $reason = $entry->doomed ?? ($this->store->closed ? 'closed' : null);
        $reason === null ? $this->store->release($entry) : $this->close($entry, $reason);
    }

    /** Closes a connection that the pool has in its hands. */
    public function close(Entry $entry, string $reason): void
    {
        $this->statistics->countDestroyed($reason);
        $this->leases->forget($entry);
        $this->store->remove($entry, $this->connector->driver($entry->connection));
        if ($this->leases->process !== 0 && Internal\taskId() !== 0) {
            $this->connector->ensure();
        }
    }

    /** Whether an error that came out of code with a connection shows that the connection is of no more use. */
    public function isBroken(object $connection, \Throwable $error): bool
    {
        return Internal\isInterrupted($connection, Internal\EffectiveTask::id())
            || (!self::isInterruption($error) && $this->connector->driver()->isBroken($error));
    }

    /** Whether $error comes from a wait that was ended early; it does not tell which connection was waited for. */
    private static function isInterruption(?\Throwable $error): bool
    {
        while ($error !== null && !$error instanceof \Hearth\CancelledError && !$error instanceof \Hearth\TimeoutError) {
            $error = $error->getPrevious();
        }

        return $error !== null;
    }
}
