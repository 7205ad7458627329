<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal\Histogram;

use function Hearth\Internal\monotonic;

/**
 * Counts of what has happened in a pool, and its current state.
 *
 * @internal
 */
final class Statistics
{
    public int $created = 0;
    public int $failedConnects = 0;
    public int $timeouts = 0;
    public int $servedWaiters = 0;
    public int $resets = 0;
    public int $rollbacks = 0;
    public int $staleReturns = 0;
    public int $failedChecks = 0;
    public int $leaks = 0;

    /** @var array<string, int> by reason */
    public array $destroyed = [];

    public readonly Histogram $borrowTime;
    public readonly Histogram $useTime;
    public readonly Histogram $createTime;

    public function __construct(private readonly Store $store)
    {
        $this->borrowTime = new Histogram();
        $this->useTime = new Histogram();
        $this->createTime = new Histogram();
    }

    public function total(): int
    {
        $this->store->sweep();

        return $this->store->total();
    }

    public function idle(): int
    {
        return \count($this->store->idle);
    }

    public function active(): int
    {
        $active = 0;
        foreach ($this->store->entries as $entry) {
            $active += $entry->state === State::Lent ? 1 : 0;
        }

        return $active;
    }

    public function waiting(): int
    {
        return $this->store->waiters->count();
    }

    /** Returns the seconds that the first in the queue has waited. */
    public function oldestWait(): float
    {
        $since = $this->store->waiters->oldest();

        return $since === null ? 0.0 : monotonic() - $since;
    }

    public function countDestroyed(string $reason): void
    {
        $this->destroyed[$reason] = ($this->destroyed[$reason] ?? 0) + 1;
    }

    /** @return array<string, mixed> */
    public function toArray(): array
    {
        return [
            'total' => $this->total(),
            'idle' => $this->idle(),
            'active' => $this->active(),
            'connecting' => $this->store->connecting,
            'lingering' => $this->store->lingering(),
            'waiting' => $this->waiting(),
            'oldestWait' => $this->oldestWait(),
            'borrowed' => $this->borrowTime->count(),
            'servedWaiters' => $this->servedWaiters,
            'timeouts' => $this->timeouts,
            'created' => $this->created,
            'failedConnects' => $this->failedConnects,
            'failedChecks' => $this->failedChecks,
            'resets' => $this->resets,
            'rollbacks' => $this->rollbacks,
            'staleReturns' => $this->staleReturns,
            'leaks' => $this->leaks,
            'destroyed' => $this->destroyed,
            'borrowTime' => $this->borrowTime->toArray(),
            'useTime' => $this->useTime->toArray(),
            'createTime' => $this->createTime->toArray(),
        ];
    }

    /** @return array<string, mixed> the same for the server, under the names of its metrics */
    public function report(): array
    {
        return [
            'total' => $this->total(),
            'idle' => $this->idle(),
            'active' => $this->active(),
            'connecting' => $this->store->connecting,
            'lingering' => $this->store->lingering(),
            'waiting' => $this->waiting(),
            'oldest_wait_seconds' => $this->oldestWait(),
            'borrowed' => $this->borrowTime->count(),
            'waited' => $this->servedWaiters,
            'timeouts' => $this->timeouts,
            'created' => $this->created,
            'failed_connects' => $this->failedConnects,
            'failed_checks' => $this->failedChecks,
            'resets' => $this->resets,
            'rollbacks' => $this->rollbacks,
            'stale_returns' => $this->staleReturns,
            'leaks' => $this->leaks,
            'destroyed' => (object) $this->destroyed,
            'borrow_time' => $this->borrowTime->report(),
            'use_time' => $this->useTime->report(),
            'connect_time' => $this->createTime->report(),
        ];
    }
}
