<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\Internal\monotonic;

/**
 * This worker's part of the connections that all workers together may have.
 *
 * All workers that have or want connections have an equal share of the total. A worker that wants a connection and
 * gets none shows that to the others, and whether it has less than its share. Then a worker with more than its share
 * gives up a connection, also while its own borrowers wait; a worker with its share or less only gives up a
 * connection that it does not use.
 *
 * @internal
 */
final class Budget
{
    /** Seconds after which a starving worker tries again, and the others check for starving workers. */
    public const INTERVAL = 0.015;

    /** Seconds for which a connection counts as in use after its last use. */
    private const IN_USE = 0.25;

    /**
     * Counts of workers, in one number: those that have or want connections, that want more, and that want more
     * with less than their share.
     */
    private const PRESENT = 1;
    private const WANTS = 1 << 20;
    private const POOR = 1 << 40;

    private int $handle;
    private int $counter;

    /** This worker's part of the counter. */
    private int $shown = 0;

    private bool $starves = false;

    /** The number of connections of this worker. */
    private int $held = 0;

    /** The number of places that will be released in a moment. */
    private int $leaving = 0;

    /** Until this time, places that become free are left to other workers. */
    private float $resignsUntil = 0.0;

    private float $acquiredAt = 0.0;

    public function __construct(string $pool, private readonly int $total)
    {
        $this->handle = Internal\budget("pool $pool", $total);
        $this->counter = Internal\budget("pool $pool: workers", 1 << 60);
    }

    public function acquire(): bool
    {
        if ($this->isForOthers() || !Internal\budgetAcquire($this->handle)) {
            return false;
        }
        ++$this->held;
        $this->acquiredAt = monotonic();
        $this->show();

        return true;
    }

    public function release(int $count = 1): void
    {
        $this->held -= $count;
        Internal\budgetRelease($this->handle, $count);
        $this->show();
    }

    /** Releases the places of closed connections, once the database has had time to notice. */
    public function releaseSoon(int $count): void
    {
        if (Internal\taskId() === 0) {
            $this->release($count);

            return;
        }
        $this->leaving += $count;
        Internal\after(self::INTERVAL, function () use ($count): void {
            $this->leaving -= $count;
            $this->release($count);
        });
    }

    /** Tells the other workers whether this one needs a connection and cannot make one. */
    public function starve(bool $starving): void
    {
        $this->starves = $starving;
        $this->show();
    }

    private function show(): void
    {
        $poor = $this->starves && $this->held < $this->share();
        $shown = ($this->held > 0 || $this->starves ? self::PRESENT : 0) | ($this->starves ? self::WANTS : 0) | ($poor ? self::POOR : 0);
        if ($shown !== $this->shown) {
            $shown > $this->shown ? Internal\budgetAcquire($this->counter, $shown - $this->shown)
                : Internal\budgetRelease($this->counter, $this->shown - $shown);
            $this->shown = $shown;
        }
    }

    /** Returns the sum of the other workers' parts of the counter. */
    private function others(): int
    {
        return Internal\budgetUsed($this->counter) - $this->shown;
    }

    private function share(): int
    {
        return \max(1, \intdiv($this->total, 1 + $this->others() % self::WANTS));
    }

    /** Whether a free place is left to other workers, because they have less than their share. */
    private function isForOthers(): bool
    {
        return $this->others() >= self::POOR && ($this->held >= $this->share() || monotonic() < $this->resignsUntil);
    }

    /**
     * Whether a connection is to be closed for another worker: an idle one, or, if there is none, the next that comes back.
     *
     * @param Entry|null $idle the connection that has been idle for longest
     */
    public function yields(?Entry $idle, float $now): bool
    {
        $others = $this->others();
        if ($this->held === 0 || $this->leaving > 0 || $others < self::WANTS || Internal\budgetUsed($this->handle) < $this->total) {
            return false;
        }
        if ($idle !== null && $now - $idle->usedAt > self::IN_USE) {
            return true;
        }
        if ($others < self::POOR) {
            return false;
        }
        // With more workers than connections, the workers take turns.
        $takesTurns = 1 + $others % self::WANTS > $this->total && $now - $this->acquiredAt > self::IN_USE;
        if ($takesTurns) {
            $this->resignsUntil = $now + 4 * self::INTERVAL;
        }

        return $takesTurns || $this->held > $this->share();
    }
}
