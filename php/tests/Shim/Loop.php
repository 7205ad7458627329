<?php

declare(strict_types=1);

namespace Hearth\Tests\Shim;

use Hearth\CancelledError;
use Hearth\Task;

/**
 * The native primitives on plain fibers, so that the library's tests need no server.
 *
 * Time is virtual unless a test asks for the real clock: when no task can run, the clock jumps to the next timer.
 */
final class Loop
{
    private static ?self $current = null;

    /** @var \SplQueue<TaskState> tasks that can run */
    private \SplQueue $ready;

    /** @var \SplPriorityQueue<array{float, int}, int> timer ids by due time */
    private \SplPriorityQueue $timers;

    /** @var array<int, array{float, \Closure}> due time and what to do, by timer id */
    private array $pending = [];

    /** @var array<int, TaskState> */
    private array $tasks = [];

    /** @var list<\Throwable> thrown by tasks and timers that no task awaits */
    public array $unhandled = [];

    private int $nextTask = 0;
    private int $nextTimer = 0;
    private float $now = 1000.0;
    private ?TaskState $running = null;
    private \WeakMap $outside;

    private function __construct(private readonly bool $realTime)
    {
        $this->ready = new \SplQueue();
        $this->timers = new \SplPriorityQueue();
        $this->outside = new \WeakMap();
    }

    /** Runs $main as the first task of a request and returns what it returns, when the request has ended. */
    public static function run(callable $main, bool $realTime = false): mixed
    {
        $loop = self::$current = new self($realTime);
        try {
            return $loop->request($main);
        } finally {
            // What the request has left to do at once, such as the reset of a connection.
            while (!$loop->ready->isEmpty() || $loop->fireDue()) {
                $loop->ready->isEmpty() || $loop->resume($loop->ready->dequeue());
            }
            $loop->pending = [];
            self::$current = new self(false);
        }
    }

    public static function current(): self
    {
        return self::$current ??= new self(false);
    }

    private function request(callable $main): mixed
    {
        $state = $this->start(\Closure::fromCallable($main), [], null);
        while (!$this->requestEnded($state)) {
            $this->step();
        }
        for ($queue = $state->request->deferred; $queue !== [];) {
            $task = $this->start(\array_shift($queue), [], null);
            while (!$task->ended) {
                $this->step();
            }
            \array_push($queue, ...$task->request->deferred);
        }
        $state->request->locals = new \WeakMap();

        return $state->outcome();
    }

    private function requestEnded(TaskState $root): bool
    {
        foreach ($this->tasks as $task) {
            if ($task->request === $root->request) {
                return false;
            }
        }

        return $root->ended;
    }

    /** Starts a task and runs it until its first wait. */
    public function start(\Closure $fn, array $args, ?TaskState $parent): TaskState
    {
        $state = new TaskState(++$this->nextTask, $parent?->request ?? new RequestState());
        $state->fiber = new \Fiber(static fn () => $fn(...$args));
        $this->tasks[$state->id] = $state;
        $this->resume($state);

        return $state;
    }

    private function resume(TaskState $state): void
    {
        $before = $this->running;
        $this->running = $state;
        try {
            $state->fiber->isStarted() ? $state->fiber->resume() : $state->fiber->start();
        } catch (\Throwable $error) {
            $state->error = $error;
        } finally {
            $this->running = $before;
        }
        if ($state->fiber->isTerminated()) {
            $this->end($state);
        }
    }

    private function end(TaskState $state): void
    {
        foreach ($state->onEnd as $callback) {
            try {
                $this->start($callback, [$state->id], null);
            } catch (\Throwable $error) {
                $this->unhandled[] = $error;
            }
        }
        $state->ended = true;
        if ($state->error === null) {
            $state->result = $state->fiber->getReturn();
        }
        unset($this->tasks[$state->id]);
        foreach ($state->awaiting as $waiter) {
            $this->unpark($waiter);
        }
    }

    /** Lets one ready task run, or moves on to the next timer. */
    private function step(): void
    {
        if (!$this->ready->isEmpty()) {
            $this->resume($this->ready->dequeue());

            return;
        }
        if ($this->fireDue()) {
            return;
        }
        $next = $this->nextDue();
        if ($next === null) {
            throw new \LogicException('deadlock: every task waits for an unpark that no task can send');
        }
        if ($this->realTime) {
            \usleep((int) \max(0, \ceil(($next - $this->monotonic()) * 1e6)));
        } else {
            $this->now = \max($this->now, $next);
        }
    }

    private function nextDue(): ?float
    {
        while (!$this->timers->isEmpty() && !isset($this->pending[$this->timers->top()])) {
            $this->timers->extract();
        }

        return $this->timers->isEmpty() ? null : $this->pending[$this->timers->top()][0];
    }

    private function fireDue(): bool
    {
        $next = $this->nextDue();
        if ($next === null || $next > $this->monotonic()) {
            return false;
        }
        $id = $this->timers->extract();
        $callback = $this->pending[$id][1];
        unset($this->pending[$id]);
        $callback();

        return true;
    }

    public function monotonic(): float
    {
        return $this->realTime ? \hrtime(true) / 1e9 : $this->now;
    }

    /** Moves the virtual clock without firing anything, as a machine that was suspended does. */
    public function jump(float $seconds): void
    {
        $this->now += $seconds;
    }

    public function taskId(): int
    {
        return $this->running?->id ?? 0;
    }

    public function runningState(): ?TaskState
    {
        return $this->running;
    }

    /** How many tasks have not ended. */
    public function taskCount(): int
    {
        return \count($this->tasks);
    }

    /** How many timers are set. */
    public function timerCount(): int
    {
        return \count($this->pending);
    }

    public function park(?float $timeout): bool
    {
        $state = $this->running ?? throw new \Error('Hearth\Internal\park() was called outside a task');
        if ($state->cancelled) {
            $state->cancelled = false;
            throw new CancelledError('the task was cancelled');
        }
        $timer = $timeout === null ? null : $this->addTimer($timeout, function () use ($state): void {
            $this->wake($state, 'timeout');
        });
        $state->parked = true;
        $state->wake = null;
        \Fiber::suspend();
        if ($timer !== null) {
            $this->stopTimer($timer);
        }
        if ($state->wake === 'cancel') {
            $state->cancelled = false;
            throw new CancelledError('the task was cancelled');
        }

        return $state->wake === 'unpark';
    }

    private function wake(TaskState $state, string $why): bool
    {
        if (!$state->parked) {
            return false;
        }
        $state->parked = false;
        $state->wake = $why;
        $this->ready->enqueue($state);

        return true;
    }

    public function unpark(int $task): bool
    {
        return isset($this->tasks[$task]) && $this->wake($this->tasks[$task], 'unpark');
    }

    public function cancel(TaskState $state): void
    {
        if (!$state->ended && !$this->wake($state, 'cancel')) {
            $state->cancelled = true;
        }
    }

    public function effectiveTask(int $task): int
    {
        return ($this->tasks[$task]->effectiveTask ?? 0) ?: $task;
    }

    public function onTaskEnd(int $task, callable $callback): void
    {
        if (!isset($this->tasks[$task])) {
            throw new \Error("task $task has ended or never was");
        }
        $this->tasks[$task]->onEnd[] = \Closure::fromCallable($callback);
    }

    public function requestOf(int $task): string
    {
        return $this->tasks[$task]?->request->id ?? '';
    }

    public function addTimer(float $seconds, \Closure $callback): int
    {
        $id = ++$this->nextTimer;
        $this->setTimer($id, $this->monotonic() + $seconds, $callback);

        return $id;
    }

    private function setTimer(int $id, float $due, \Closure $callback): void
    {
        $this->pending[$id] = [$due, $callback];
        $this->timers->insert($id, [-$due, -$id]);
    }

    public function stopTimer(int $id): void
    {
        unset($this->pending[$id]);
    }

    public function after(float $seconds, callable $callback): int
    {
        return $this->addTimer($seconds, fn () => $this->fire($callback));
    }

    public function every(float $seconds, callable $callback): int
    {
        $id = ++$this->nextTimer;
        $tick = function () use (&$tick, $id, $seconds, $callback): void {
            $this->setTimer($id, $this->monotonic() + $seconds, $tick);
            $this->fire($callback);
        };
        $this->setTimer($id, $this->monotonic() + $seconds, $tick);

        return $id;
    }

    private function fire(callable $callback): void
    {
        $this->start(function () use ($callback): void {
            try {
                $callback();
            } catch (\Throwable $error) {
                $this->unhandled[] = $error;
            }
        }, [], null);
    }

    public function locals(): \WeakMap
    {
        return $this->running === null ? $this->outside : $this->running->request->locals;
    }

    public function defer(\Closure $callback): void
    {
        $state = $this->running ?? throw new \Error('Hearth\defer() was called outside a request');
        $state->request->deferred[] = $callback;
    }

    /** Suspends the running task; others run meanwhile. For tests. */
    public static function sleep(float $seconds): void
    {
        self::current()->park($seconds);
    }
}
