<?php

declare(strict_types=1);

namespace Hearth;

use Hearth\Internal\EffectiveTask;
use Hearth\Internal\WaitQueue;

/**
 * A lock that one task of this worker holds at a time, first come first served.
 *
 * It belongs to the task that acquired it, and is released when that task ends. The function of `timeout()` is part of the calling task.
 * Other workers have their own.
 *
 * ```php
 * $mutex->with(function (): void { … });
 * ```
 */
final class Mutex
{
    /** Id of the task that holds the mutex, null = free. */
    private ?int $owner = null;
    private WaitQueue $waiters;

    /** @var array<int, true> tasks with a callback for their end */
    private array $watched = [];

    public function __construct()
    {
        $this->waiters = new WaitQueue();
    }

    /** A mutex cannot be cloned: the copy would share a part of its state. */
    private function __clone()
    {
    }

    /**
     * Acquires the mutex; waits while another task holds it.
     *
     * @param float|null $timeout seconds, null = for ever
     * @throws TimeoutError when the mutex did not become free in time
     * @throws CancelledError
     * @throws \LogicException when this task holds the mutex already: it would wait for itself
     */
    public function acquire(?float $timeout = null): void
    {
        $task = EffectiveTask::id();
        if ($this->owner === $task) {
            throw new \LogicException('this task holds the mutex already; acquiring it again would wait for ever');
        }
        $this->watch($task);
        if ($this->owner === null) {
            $this->owner = $task;

            return;
        }
        $this->waiters->wait($timeout, fn () => $this->handOn())
            ?? throw new TimeoutError("the mutex, held by task $this->owner, did not come free within $timeout s");
    }

    /** Acquires the mutex if it is free; returns whether it did. */
    public function tryAcquire(): bool
    {
        if ($this->owner !== null) {
            return false;
        }
        $this->watch($this->owner = EffectiveTask::id());

        return true;
    }

    /** @throws \LogicException when this task does not hold the mutex */
    public function release(): void
    {
        $task = EffectiveTask::id();
        if ($this->owner !== $task) {
            $holder = $this->owner === null ? 'no task does' : "task $this->owner does";
            throw new \LogicException("task $task does not hold the mutex, $holder");
        }
        $this->handOn();
    }

    /**
     * Calls $fn while holding the mutex.
     *
     * @template T
     * @param callable(mixed ...): T $fn
     * @return T
     * @throws CancelledError
     */
    public function with(callable $fn, mixed ...$args): mixed
    {
        $this->acquire();
        try {
            return $fn(...$args);
        } finally {
            $this->release();
        }
    }

    public function isLocked(): bool
    {
        return $this->owner !== null;
    }

    private function handOn(): void
    {
        $this->owner = Internal\effectiveTask($this->waiters->serve(true)) ?: null;
    }

    private function watch(int $task): void
    {
        if ($task === 0 || isset($this->watched[$task])) {
            return;
        }
        $this->watched[$task] = true;
        Internal\onTaskEnd($task, function () use ($task): void {
            unset($this->watched[$task]);
            if ($this->owner === $task) {
                $this->handOn();
            }
        });
    }
}
