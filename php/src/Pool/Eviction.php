<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * Removes connections from a pool: at once, or when the borrower gives the connection back.
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

    /** Sets the objects of this process. */
    public function begin(Leases $leases, Connector $connector): void
    {
        $this->leases = $leases;
        $this->connector = $connector;
    }

    /** Makes sure that the connection is not lent again: closes an idle one now, and one that is lent when it comes back. */
    public function evict(Entry $entry, string $reason): void
    {
        $entry->evictReason ??= $reason;
        if ($this->store->reserve($entry)) {
            $this->close($entry, $reason);
        }
    }

    /** Hands a reserved connection to a borrower that waits, or makes it idle; closes it if it must not be lent again. */
    public function settle(Entry $entry): void
    {
        $reason = $entry->evictReason ?? ($this->store->closed ? 'closed' : null);
        $reason === null ? $this->store->release($entry) : $this->close($entry, $reason);
    }

    /** Closes a reserved connection. */
    public function close(Entry $entry, string $reason): void
    {
        $this->statistics->countDestroyed($reason);
        $this->leases->forget($entry);
        $this->store->remove($entry, $this->connector->driver($entry->connection));
        if ($this->leases->process !== 0 && Internal\taskId() !== 0) {
            $this->connector->ensure();
        }
    }

    /** Whether an error thrown by code with a connection shows that the connection is unusable. */
    public function isBroken(object $connection, \Throwable $error): bool
    {
        return Internal\isInterrupted($connection, Internal\EffectiveTask::id())
            || (!self::isInterruption($error) && $this->connector->driver()->isBroken($error));
    }

    /** Whether $error comes from a wait that was ended early; the error does not tell which connection was waited for. */
    private static function isInterruption(?\Throwable $error): bool
    {
        while ($error !== null && !$error instanceof \Hearth\CancelledError && !$error instanceof \Hearth\TimeoutError) {
            $error = $error->getPrevious();
        }

        return $error !== null;
    }
}
