<?php

declare(strict_types=1);

namespace Hearth;

use Hearth\Internal\WaitQueue;

/**
 * A limit on how many tasks of this worker do something at once; tasks that must wait are served first come first served.
 *
 * ```php
 * $limit = new Hearth\Semaphore(4);                       // at boot
 * $page = $limit->with(fn () => file_get_contents($url)); // in any request
 * ```
 */
final class Semaphore
{
    private int $free;
    private WaitQueue $waiters;

    /** @var array<int, int> permits held inside `with()`, by task */
    private array $held = [];

    /** @param int $permits number of permits that tasks may hold at once */
    public function __construct(private readonly int $permits)
    {
        if ($permits < 1) {
            throw new \ValueError("a semaphore needs at least 1 permit, $permits given");
        }
        $this->free = $permits;
        $this->waiters = new WaitQueue();
    }

    /** A semaphore cannot be cloned: the copy would share a part of its state. */
    private function __clone()
    {
    }

    /**
     * Takes a permit; waits, behind the tasks that asked before, while none is free.
     *
     * @param float|null $timeout seconds, null = for ever
     * @throws TimeoutError when no permit became free in time
     * @throws CancelledError
     */
    public function acquire(?float $timeout = null): void
    {
        if ($this->free > 0) {
            --$this->free;

            return;
        }
        $this->waiters->wait($timeout, fn () => $this->release())
            ?? throw new TimeoutError("none of the semaphore's $this->permits permits came free within $timeout s");
    }

    /** Takes a permit if one is free; returns whether it did. */
    public function tryAcquire(): bool
    {
        if ($this->free === 0) {
            return false;
        }
        --$this->free;

        return true;
    }

    /**
     * Gives a permit back, to the task that has waited longest, if any. Any task may call this.
     *
     * @throws \LogicException when all permits are free already
     */
    public function release(): void
    {
        if ($this->free === $this->permits) {
            throw new \LogicException("the semaphore was released more often than acquired: all $this->permits permits are free");
        }
        if ($this->waiters->serve(true) === 0) {
            ++$this->free;
        }
    }

    /**
     * Calls $fn with a permit held, and gives it back however $fn ends, also by `exit()`.
     *
     * @template T
     * @param callable(mixed ...): T $fn
     * @return T
     * @throws CancelledError
     */
    public function with(callable $fn, mixed ...$args): mixed
    {
        $task = Internal\taskId();
        if ($task !== 0 && !isset($this->held[$task])) {
            $this->held[$task] = 0;
            Internal\onTaskEnd($task, fn () => $this->taskEnded($task));
        }
        $this->acquire();
        $task === 0 || ++$this->held[$task];
        try {
            return $fn(...$args);
        } finally {
            $task === 0 || --$this->held[$task];
            $this->release();
        }
    }

    private function taskEnded(int $task): void
    {
        for ($held = $this->held[$task] ?? 0; $held > 0; --$held) {
            $this->release();
        }
        unset($this->held[$task]);
    }

    /** Returns the number of free permits. */
    public function available(): int
    {
        return $this->free;
    }

    /** Returns the number of tasks that wait for a permit. */
    public function waiting(): int
    {
        return $this->waiters->count();
    }
}
