<?php

declare(strict_types=1);

namespace Hearth {

    use Hearth\Tests\Shim\Loop;
    use Hearth\Tests\Shim\TaskState;

    /** The native class, on the shim's loop. */
    final class Task
    {
        /** @internal */
        public function __construct(private readonly TaskState $state)
        {
        }

        public function await(?float $timeout = null): mixed
        {
            $loop = Loop::current();
            $until = $timeout === null ? null : $loop->monotonic() + $timeout;
            while (!$this->state->ended) {
                $left = $until === null ? null : $until - $loop->monotonic();
                $this->state->awaiting[] = $loop->taskId();
                if (($left !== null && $left <= 0) || (!$loop->park($left) && !$this->state->ended)) {
                    throw new TimeoutError("the task did not end within $timeout s");
                }
            }

            return $this->state->outcome();
        }

        public function cancel(): void
        {
            Loop::current()->cancel($this->state);
        }

        public function isDone(): bool
        {
            return $this->state->ended;
        }
    }

    function async(callable $fn, mixed ...$args): Task
    {
        $loop = Loop::current();
        $parent = $loop->runningState() ?? throw new \Error('Hearth\async() was called outside a task');

        return new Task($loop->start(\Closure::fromCallable($fn), $args, $parent));
    }

    function background(callable $fn, mixed ...$args): Task
    {
        return new Task(Loop::current()->start(\Closure::fromCallable($fn), $args, null));
    }

    function defer(callable $fn): void
    {
        Loop::current()->defer(\Closure::fromCallable($fn));
    }

    function requestId(): string
    {
        return Loop::current()->runningState()?->request->id ?? '';
    }
}

namespace Hearth\Internal {

    use Hearth\Tests\Shim\Budgets;
    use Hearth\Tests\Shim\Loop;

    function processId(): int
    {
        return \getmypid();
    }

    function taskId(): int
    {
        return Loop::current()->taskId();
    }

    function setEffectiveTask(int $taskId): void
    {
        Loop::current()->runningState()->effectiveTask = $taskId;
    }

    function effectiveTask(int $taskId): int
    {
        return Loop::current()->effectiveTask($taskId);
    }

    function park(?float $timeout = null): bool
    {
        return Loop::current()->park($timeout === null ? null : \max(0.0, $timeout));
    }

    function unpark(int $taskId): bool
    {
        return Loop::current()->unpark($taskId);
    }

    function after(float $seconds, callable $callback): int
    {
        return Loop::current()->after($seconds, $callback);
    }

    function every(float $seconds, callable $callback): int
    {
        return Loop::current()->every($seconds, $callback);
    }

    function stopTimer(int $timer): void
    {
        Loop::current()->stopTimer($timer);
    }

    function locals(): \WeakMap
    {
        return Loop::current()->locals();
    }

    function withTexts(callable $code): array
    {
        return [$code(), []];
    }

    function hasUnreadResult(object $connection): bool
    {
        return false;
    }

    function clientState(object $connection): string
    {
        return '';
    }

    function closeCursors(object $connection): bool
    {
        return true;
    }

    /** A shim's task waits in no call. */
    function isInUse(object $connection): bool
    {
        return false;
    }

    /** A shim's task waits for no descriptor. */
    function isInterrupted(object $connection, int $task): bool
    {
        return false;
    }

    function onTaskEnd(int $taskId, callable $callback): void
    {
        Loop::current()->onTaskEnd($taskId, $callback);
    }

    function requestOf(int $taskId): string
    {
        return Loop::current()->requestOf($taskId);
    }

    function monotonic(): float
    {
        return Loop::current()->monotonic();
    }

    function budget(string $name, int $total): int
    {
        return Budgets::open($name, $total);
    }

    function budgetAcquire(int $handle, int $n = 1): bool
    {
        return Budgets::acquire($handle, $n);
    }

    function budgetUsed(int $handle): int
    {
        return Budgets::used($handle);
    }

    function budgetRelease(int $handle, int $n = 1): void
    {
        Budgets::release($handle, $n);
    }

    function report(string $text): void
    {
        $GLOBALS['hearth_reported'] = $text;
    }
}
