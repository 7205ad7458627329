<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\Internal\monotonic;

/**
 * Gets a connection for a borrower: an idle one, or else the first that becomes free, new or returned.
 *
 * @internal
 */
final class Acquirer
{
    /** Settles a connection that was handed to a waiter that was cancelled at the same moment. */
    private readonly \Closure $passOn;

    public function __construct(
        private readonly string $name,
        private readonly Options $options,
        private readonly Store $store,
        private readonly Connector $connector,
        private readonly Check $check,
        private readonly ConnectBackoff $backoff,
        private readonly Statistics $statistics,
        private readonly Eviction $eviction,
    ) {
        $this->passOn = static function (Entry|\Throwable $served) use ($eviction): void {
            if ($served instanceof Entry && $served->state !== State::Removed) {
                $eviction->settle($served);
            }
        };
    }

    /**
     * Returns a connection for the running task.
     *
     * @param float|null $timeout seconds, null = the pool's
     * @param float $since when the connection was asked for
     * @throws PoolException|\Hearth\CancelledError
     */
    public function take(?float $timeout, float $since): Entry
    {
        $entry = $this->store->idle === [] ? null : $this->takeIdle($since);
        if ($entry !== null) {
            return $entry;
        }

        return Internal\taskId() === 0 ? $this->connector->makeNow() : $this->await($timeout ?? $this->options->borrowTimeout, $since);
    }

    /** Takes an idle connection that works; null if none is known to work, or if other tasks wait. */
    private function takeIdle(float $now): ?Entry
    {
        while ($this->store->idle !== [] && $this->store->open && $this->store->waiters->count() === 0) {
            $entry = $this->store->takeIdle($this->options->order);
            $works = $this->check->known($entry, $now);
            if ($works === true || ($works === null && Internal\taskId() === 0 && $this->check->passes($entry))) {
                return $entry;
            }
            if ($works === null && Internal\taskId() !== 0) {
                $this->check->start($entry);
                if ($entry->state !== State::Idle) {
                    return null;
                }
            }
            $now = monotonic();
        }

        return null;
    }

    /** Waits for the first connection that becomes free: new, returned, or found to work. */
    private function await(float $timeout, float $since): Entry
    {
        $store = $this->store;
        while (true) {
            $connections = \count($store->entries);
            if ($store->closed || $this->options->maxWaiters !== null) {
                $this->mayWait();
            }
            // With the full number of connections and none idle, there is nothing to make or to check.
            if ($connections < $this->options->size || $store->idle !== []) {
                $entry = $this->takeNew();
                if ($entry !== null) {
                    return $entry;
                }
            }
            $entry = $store->waiters->wait($timeout, $this->passOn, null, $since);
            if ($entry === null) {
                $this->tooLate($timeout);
            }
            if ($entry instanceof \Throwable) {
                throw $entry;
            }
            if ($entry->evictReason === null) {
                $statistics = $this->statistics;
                ++$statistics->servedWaiters;

                return $entry;
            }
            // It was marked for eviction between its hand-over and now.
            $this->eviction->settle($entry);
        }
    }

    private function tooLate(float $timeout): never
    {
        ++$this->statistics->timeouts;
        $cause = $this->backoff->cause();
        $why = $cause !== null && $this->store->entries === [] ? "the database cannot be reached; waited $timeout s"
            : "no connection came free within $timeout s" . ($this->store->open ? '' : ', because the pool is paused');
        throw BorrowTimeout::of($this->name, $why, $this->statistics, $cause);
    }

    /** Has a connection made or checked, and takes it if that needed no wait, or any other that has become idle. */
    private function takeNew(): ?Entry
    {
        do {
            $this->connector->ensure(1);
            $entry = $this->takeIdle(monotonic());
        } while ($entry === null && $this->store->checking === 0 && $this->store->idle !== [] && $this->store->open && $this->store->waiters->count() === 0);
        if ($entry === null) {
            $this->check->validateFor(1);
            // All idle connections may have been broken: then one more must be made.
            $this->connector->ensure(1);
        }

        return $entry;
    }

    /** @throws PoolException when waiting is pointless or not allowed */
    private function mayWait(): void
    {
        if ($this->store->closed) {
            throw new PoolClosed("pool \"$this->name\" is closed");
        }
        if ($this->options->maxWaiters !== null && $this->store->waiters->count() >= $this->options->maxWaiters) {
            throw BorrowTimeout::of($this->name, "as many wait as may (maxWaiters = {$this->options->maxWaiters})", $this->statistics, $this->backoff->cause());
        }
    }
}
