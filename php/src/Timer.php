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

    /** A timer cannot be cloned: the copy would not know that it was stopped. */
    private function __clone()
    {
    }

    /** Stops the timer: no further call is made; a call that is running goes on to its end. */
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
