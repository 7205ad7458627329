<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Task;

/**
 * Child tasks that are started, watched and ended together; `parallel()`, `race()` and `timeout()` are built on it.
 *
 * When a method has returned or thrown, none of its children runs any more.
 *
 * @internal
 */
final class Group
{
    /** @var array<array-key, Task|null> children that have not ended; null while a child is being started */
    private array $running = [];

    /** @var array<array-key, mixed> results, in the order in which the children ended */
    private array $results = [];

    private ?\Throwable $failure = null;

    /** The parent is woken when fewer children than this are running. */
    private int $enough = \PHP_INT_MAX;

    private readonly int $parent;

    public function __construct()
    {
        $this->parent = taskId();
    }

    /**
     * Runs all callables, at most $limit at once.
     *
     * @param array<array-key, callable(): mixed> $callables
     * @return array<array-key, mixed> by the keys of $callables, in their order
     * @throws \Throwable the first failure
     */
    public function all(array $callables, int $limit): array
    {
        $child = $this->run(...);
        $this->enough = $limit;
        try {
            foreach ($callables as $key => $fn) {
                $this->start($child, $key, $fn);
                while (\count($this->running) >= $limit && $this->failure === null) {
                    $this->wait();
                }
                if ($this->failure !== null) {
                    break;
                }
            }
            $this->enough = 1;
            while ($this->running !== [] && $this->failure === null) {
                $this->wait();
            }
        } finally {
            $this->cancelRest();
        }
        if ($this->failure !== null) {
            throw $this->failure;
        }

        return \array_replace($callables, $this->results);
    }

    /**
     * Runs all callables until the first has ended.
     *
     * @param array<array-key, callable(): mixed> $callables
     * @return mixed the result of the first
     * @throws \Throwable the exception of the first
     */
    public function first(array $callables): mixed
    {
        $child = $this->run(...);
        try {
            foreach ($callables as $key => $fn) {
                $this->start($child, $key, $fn);
                if ($this->results !== [] || $this->failure !== null) {
                    break;
                }
            }
            while ($this->results === [] && $this->failure === null) {
                $this->wait();
            }
            [$results, $failure] = [$this->results, $this->failure];
        } finally {
            $this->cancelRest();
        }
        if ($failure !== null && $results === []) {
            throw $failure;
        }

        return \reset($results);
    }

    /**
     * Runs one callable, for at most $seconds.
     *
     * @param callable(): mixed $fn
     * @return bool whether it ended in time; then $result is its result
     * @throws \Throwable the exception that it threw
     */
    public function within(float $seconds, callable $fn, mixed &$result): bool
    {
        $caller = EffectiveTask::id();
        $until = monotonic() + $seconds;
        $inTime = true;
        try {
            $this->start($this->run(...), 0, static fn () => EffectiveTask::inside($caller, $fn));
            while ($this->running !== [] && $inTime) {
                $left = $until - monotonic();
                $inTime = $left > 0 && ($this->wait($left) || $this->running === []);
            }
        } finally {
            $this->cancelRest();
        }
        if ($inTime && $this->failure !== null) {
            throw $this->failure;
        }
        $result = $this->results[0] ?? null;

        return $inTime;
    }

    /**
     * Starts $fn as a child, which runs until its first wait and may have ended when this returns.
     *
     * @param \Closure $child `run()`, as a closure made once for all children
     * @param callable(): mixed $fn checked by the caller
     */
    private function start(\Closure $child, int|string $key, mixed $fn): void
    {
        $this->running[$key] = null;
        try {
            $task = \Hearth\async($child, $key, $fn);
        } catch (\Throwable $error) {
            unset($this->running[$key]);
            throw $error;
        }
        if (\array_key_exists($key, $this->running)) {
            $this->running[$key] = $task;
            if ($task->isDone()) {
                $this->settle();
            }
        }
    }

    /** Runs in the child: calls $fn and keeps its result. */
    private function run(int|string $key, mixed $fn): void
    {
        try {
            $this->results[$key] = $fn();
        } catch (\Throwable $error) {
            $this->failure ??= $error;
        }
        unset($this->running[$key]);
        if ($this->failure !== null || \count($this->running) < $this->enough) {
            unpark($this->parent);
        }
    }

    /** Waits until a child has ended, for $seconds at most; false after the timeout. */
    private function wait(?float $seconds = null): bool
    {
        $woken = park($seconds);
        $this->settle();

        return $woken;
    }

    /** Takes the results of children that ended by exit() or a fatal error, and so not at the end of `run()`. */
    private function settle(): void
    {
        foreach ($this->running as $key => $task) {
            if (!$task->isDone()) {
                continue;
            }
            unset($this->running[$key]);
            try {
                $this->results[$key] = $task->await();
            } catch (\Throwable $error) {
                $this->failure ??= $error;
            }
        }
    }

    /** Cancels the running children and waits until they have ended. */
    private function cancelRest(): void
    {
        $this->enough = 1;
        foreach ($this->running as $task) {
            $task->cancel();
        }
        while ($this->running !== []) {
            $this->wait();
        }
    }
}
