<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * This worker's part of the connections that all workers together may have.
 *
 * A worker that needs one and gets none raises a flag that the others see; one that has an idle connection closes it then.
 *
 * @internal
 */
final class Budget
{
    /** How often one that starves tries again, and one with idle connections looks for those that starve; seconds. */
    public const INTERVAL = 0.015;

    private int $handle;
    private int $flags;
    private bool $flagged = false;

    /** What will be given back in a moment. */
    private int $leaving = 0;

    public function __construct(string $pool, private readonly int $total)
    {
        $this->handle = Internal\budget("pool $pool", $total);
        $this->flags = Internal\budget("pool $pool: starving", 1 << 20);
    }

    public function acquire(): bool
    {
        return Internal\budgetAcquire($this->handle);
    }

    public function release(int $count = 1): void
    {
        Internal\budgetRelease($this->handle, $count);
    }

    /** Gives back the places of connections that were closed, once the database has had time to read that they were. */
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
        if ($starving !== $this->flagged) {
            $this->flagged = $starving;
            $starving ? Internal\budgetAcquire($this->flags) : Internal\budgetRelease($this->flags);
        }
    }

    /** Whether another worker starves, and nothing is left or about to come free. */
    public function othersStarve(): bool
    {
        return $this->leaving === 0
            && \function_exists('Hearth\Internal\budgetUsed')
            && Internal\budgetUsed($this->flags) > ($this->flagged ? 1 : 0)
            && Internal\budgetUsed($this->handle) >= $this->total;
    }
}
