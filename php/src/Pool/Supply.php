<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\Internal\monotonic;

/**
 * Where a borrower's connection comes from: an idle one, or else the first that becomes free, new or returned.
 *
 * @internal
 */
final class Supply
{
    /** A connection was handed to a waiter that was cancelled at the same moment. */
    private readonly \Closure $passOn;

    /** @param \Closure(Entry): void $settle */
    public function __construct(
        private readonly string $name,
        private readonly Options $options,
        private readonly Store $store,
        private readonly Connector $connector,
        private readonly Check $check,
        private readonly Circuit $circuit,
        private readonly Statistics $statistics,
        private readonly \Closure $settle,
    ) {
        $this->passOn = static function (Entry|\Throwable $served) use ($settle): void {
            if ($served instanceof Entry && $served->state !== State::Removed) {
                $settle($served);
            }
        };
    }

    /**
     * A connection for the task that runs.
     *
     * @param float|null $timeout seconds, null = the pool's
     * @param float $since when it was asked for
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

    /** An idle connection that works, null if there is none, or if others wait. */
    private function takeIdle(float $now): ?Entry
    {
        while ($this->store->idle !== [] && $this->store->open && $this->store->waiters->count() === 0) {
            $entry = $this->options->order === 'lifo' ? \array_pop($this->store->idle) : \array_shift($this->store->idle);
            $entry->state = State::Reserved;
            if ($this->check->passes($entry, $now)) {
                return $entry;
            }
            $now = monotonic();
        }

        return null;
    }

    /** Waits for the first connection that becomes free, new or returned. */
    private function await(float $timeout, float $since): Entry
    {
        $store = $this->store;
        while (true) {
            $connections = \count($store->entries);
            if ($store->closed || $connections === 0 || $this->options->maxWaiters !== null) {
                $this->mayWait();
            }
            // While all that may be are there, and none is idle, there is nothing to ask for.
            if ($connections < $this->options->size || $store->idle !== []) {
                $entry = $this->takeNew();
                if ($entry !== null) {
                    return $entry;
                }
            }
            $entry = $store->waiters->wait($timeout, $this->passOn, null, $since);
            if ($entry === null) {
                ++$this->statistics->timeouts;
                throw BorrowTimeout::of($this->name, "no connection came free within $timeout s", $this->statistics, $this->circuit->cause());
            }
            if ($entry instanceof \Throwable) {
                throw $entry instanceof PoolException ? $entry
                    : BorrowTimeout::of($this->name, 'the database cannot be reached', $this->statistics, $entry);
            }
            if ($entry->doomed !== null) {
                // Between its hand-over and now.
                ($this->settle)($entry);
            } elseif ($this->options->check === null || $this->check->passes($entry, monotonic())) {
                $statistics = $this->statistics;
                ++$statistics->servedWaiters;

                return $entry;
            }
        }
    }

    /** Has a connection made, and takes it if that needed no wait, or any that has become idle. */
    private function takeNew(): ?Entry
    {
        do {
            $this->connector->ensure(1);
            $entry = $this->takeIdle(monotonic());
            // Those that were idle may all have been broken: then one more must be made.
            $this->connector->ensure($entry === null ? 1 : 0);
        } while ($entry === null && $this->store->idle !== [] && $this->store->open && $this->store->waiters->count() === 0);

        return $entry;
    }

    /** @throws PoolException when it makes no sense to wait */
    private function mayWait(): void
    {
        if ($this->store->closed) {
            throw new PoolClosed("pool \"$this->name\" is closed");
        }
        if ($this->options->maxWaiters !== null && $this->store->waiters->count() >= $this->options->maxWaiters) {
            throw BorrowTimeout::of($this->name, "as many wait as may (maxWaiters = {$this->options->maxWaiters})", $this->statistics, $this->circuit->cause());
        }
        if ($this->store->entries === [] && $this->circuit->isOpen() && $this->circuit->delay(monotonic()) > 0) {
            throw BorrowTimeout::of($this->name, 'the database cannot be reached', $this->statistics, $this->circuit->cause());
        }
    }
}
