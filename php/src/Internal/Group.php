<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Task;

/**
 * Child tasks that are started, watched and ended together; `parallel()`, `race()` and `timeout()` are made of it.
 *
 * Whatever happens, none of them runs any more when its method has returned.
 *
 * @internal
 */
final class Group
{
    /** @var array<array-key, Task> those that have not ended */
    private array $running = [];

    /** @var array<array-key, mixed> in the order in which they came */
    private array $results = [];

    private ?\Throwable $failure = null;

    private readonly int $parent;

    public function __construct()
    {
        $this->parent = taskId();
    }

    /**
     * Runs all, at most $limit at once.
     *
     * @param array<array-key, callable(): mixed> $callables
     * @return array<array-key, mixed> by the keys of $callables, in their order
     * @throws \Throwable the first failure
     */
    public function all(array $callables, int $limit): array
    {
        try {
            foreach ($callables as $key => $fn) {
                $this->start($key, $fn);
                while (\count($this->running) >= $limit && $this->failure === null) {
                    park();
                }
                if ($this->failure !== null) {
                    break;
                }
            }
            while ($this->running !== [] && $this->failure === null) {
                park();
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
     * Runs all until the first has ended.
     *
     * @param array<array-key, callable(): mixed> $callables
     * @return mixed what the first returned
     * @throws \Throwable what the first threw
     */
    public function first(array $callables): mixed
    {
        try {
            foreach ($callables as $key => $fn) {
                $this->start($key, $fn);
                if ($this->results !== [] || $this->failure !== null) {
                    break;
                }
            }
            while ($this->results === [] && $this->failure === null) {
                park();
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
     * Runs one, for at most $seconds.
     *
     * @param callable(): mixed $fn
     * @return bool whether it ended in time; its result is in $result then
     * @throws \Throwable what it threw
     */
    public function within(float $seconds, callable $fn, mixed &$result): bool
    {
        $caller = Scope::id();
        $until = monotonic() + $seconds;
        $inTime = true;
        try {
            $this->start(0, static fn () => Scope::inside($caller, $fn));
            while ($this->running !== [] && $inTime) {
                $left = $until - monotonic();
                $inTime = $left > 0 && (park($left) || $this->running === []);
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

    /** Starts $fn as a child; it runs until its first wait, and may have ended when this returns. */
    private function start(int|string $key, callable $fn): void
    {
        $ended = false;
        $task = \Hearth\async(function () use ($key, $fn, &$ended): void {
            try {
                $this->results[$key] = $fn();
            } catch (\Throwable $error) {
                $this->failure ??= $error;
            }
            $ended = true;
            unset($this->running[$key]);
            unpark($this->parent);
        });
        if (!$ended) {
            $this->running[$key] = $task;
        }
    }

    /** Cancels those that run and waits until they have ended. */
    private function cancelRest(): void
    {
        foreach ($this->running as $task) {
            $task->cancel();
        }
        while ($this->running !== []) {
            park();
        }
    }
}
