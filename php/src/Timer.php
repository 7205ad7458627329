<?php

declare(strict_types=1);

namespace Hearth;

/** A timer of this worker, made by `every()` or `after()`. It runs until stopped, even if no variable keeps this object. */
final class Timer
{
    private bool $stopped = false;

    /** @internal made by `every()` and `after()` */
    public function __construct(private readonly int $id)
    {
    }

    /** No further call is made; one that runs already ends by itself. */
    public function stop(): void
    {
        if (!$this->stopped) {
            $this->stopped = true;
            Internal\stopTimer($this->id);
        }
    }

    public function isStopped(): bool
    {
        return $this->stopped;
    }
}
