<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;
use Hearth\Internal\Scope;

use function Hearth\Internal\monotonic;

/**
 * Which task has which connection: how one is lent, and what happens to it when it comes back.
 *
 * @internal
 */
final class Loans
{
    /** The process in which tasks borrow; 0 = none has yet. */
    public int $process = 0;

    /** @var array<int, Entry> by the task that has it */
    private array $bound = [];

    /** @var array<int, true> tasks at whose end connections come back */
    private array $watched = [];

    /** Whether one task always gets the same connection. */
    private readonly bool $binds;

    /** Whether there may be something to reset on a return. */
    private bool $resets;

    /** Who knows whether there is; null: there always is. */
    private ?Driver $driver = null;

    /** Whether it is noted where a connection was borrowed. */
    private readonly bool $traces;

    /** Whether an idle connection may be lent without further ado. */
    private readonly bool $quick;

    /** Whether PHP code can fork, so that each borrower must make sure that the connections are of its process. */
    private readonly bool $mayFork;

    /** `takeBackAtEnd()`, made once for all tasks. */
    private readonly \Closure $taskEnded;

    private Supply $supply;
    private Reset $reset;

    /**
     * @param \Closure(int): void $prepare called before a task's first loan in a process
     * @param \Closure(Entry, string): void $destroy
     */
    public function __construct(
        private readonly string $name,
        private readonly Options $options,
        private readonly Store $store,
        private readonly Statistics $statistics,
        private readonly Reporter $reporter,
        private readonly \Closure $prepare,
        private readonly \Closure $destroy,
    ) {
        $this->binds = $options->bindToTask;
        $this->resets = $options->reset !== 'none';
        $this->traces = $options->leakThreshold > 0;
        $this->quick = $options->order === 'lifo' && $options->check === null && !$this->traces;
        $this->mayFork = \function_exists('pcntl_fork');
        $this->taskEnded = $this->takeBackAtEnd(...);
    }

    /** What they stand on in this process. What was lent in another is not known here. */
    public function begin(Supply $supply, Reset $reset): void
    {
        $this->supply = $supply;
        $this->reset = $reset;
        $this->bound = $this->watched = [];
    }

    /** A first connection shows whether there is anything to reset. */
    public function learn(Driver $driver): void
    {
        if ($this->options->reset instanceof \Closure) {
            return;
        }
        $this->driver = $driver;
        $this->resets = $this->options->reset !== 'none' && !$driver instanceof AnyDriver;
    }

    /** The connection of the current task, null if it has none. */
    public function current(): ?Entry
    {
        $task = Internal\taskId();

        return $this->bound[Scope::$callers[$task] ?? $task] ?? null;
    }

    /**
     * @param float|null $timeout seconds, null = the pool's
     * @throws PoolException|\Hearth\CancelledError
     */
    public function borrow(?float $timeout): Entry
    {
        $task = Internal\taskId();
        $task = Scope::$callers[$task] ?? $task;
        if (isset($this->bound[$task])) {
            $entry = $this->bound[$task];
            ++$entry->depth;

            return $entry;
        }

        return $this->lend($timeout, $task);
    }

    /**
     * The connection of the current task; the first call borrows it.
     *
     * @throws PoolException|\Hearth\CancelledError
     */
    public function ofTask(): Entry
    {
        $task = Internal\taskId();
        $task = Scope::$callers[$task] ?? $task;

        return $this->bound[$task] ?? $this->lend(null, $task);
    }

    /** Another connection for the current task, instead of one that broke. */
    public function renew(Entry $entry): Entry
    {
        $this->takeBack($entry);

        return $this->ofTask();
    }

    private function lend(?float $timeout, int $task): Entry
    {
        if (!isset($this->watched[$task])) {
            $this->watch($task);
        } elseif ($this->mayFork && $this->process !== Internal\processId()) {
            ($this->prepare)($task);
        }
        $now = monotonic();
        $store = $this->store;
        if ($this->quick && $store->idle !== [] && $store->open && $now - $store->idle[\count($store->idle) - 1]->usedAt < Check::RECENT) {
            // The short way; it does what the rest would do.
            $entry = \array_pop($store->idle);
            $entry->borrowedAt = $now;
            ++$this->statistics->borrowTime->counts[0];
        } else {
            $entry = $this->supply->take($task, $timeout, $now);
        }
        $entry->state = State::Lent;
        $entry->owner = $task;
        $entry->depth = 1;
        // By way of a variable: to change what a property's object has costs more.
        $statistics = $this->statistics;
        ++$statistics->borrowed;
        if ($this->binds) {
            $this->bound[$task] = $entry;
        }
        if ($this->traces) {
            $entry->trace = \debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 20);
        }

        return $entry;
    }

    /** What comes before a task's first loan. */
    private function watch(int $task): void
    {
        if ($this->process !== Internal\processId() || $task === 0 || $this->store->closed) {
            ($this->prepare)($task);
        }
        if ($this->options->autoReturn && $task !== 0) {
            $this->watched[$task] = true;
            Internal\onTaskEnd($task, $this->taskEnded);
        }
    }

    /** @throws NotBorrowed */
    public function giveBack(object $connection): void
    {
        $entry = $this->store->entries[\spl_object_id($connection)] ?? null;
        $task = Internal\taskId();
        $task = Scope::$callers[$task] ?? $task;
        if ($entry === null || $entry->connection !== $connection || $entry->state !== State::Lent || $entry->owner !== $task) {
            ++$this->statistics->staleReturns;
            throw new NotBorrowed($this->whyNotBorrowed($this->store->find($connection), $task));
        }
        if (--$entry->depth === 0) {
            $this->takeBack($entry);
        }
    }

    private function whyNotBorrowed(?Entry $entry, int $task): string
    {
        $why = match (true) {
            $entry === null => 'it is not (or no longer) of this pool',
            $entry->state === State::Lent => "it is lent to task $entry->owner",
            default => 'it was given back already',
        };

        return "pool \"$this->name\": task $task gave back a connection that it does not have: $why";
    }

    /** What is bound to this task comes back. */
    public function takeBackOf(int $task): void
    {
        if (isset($this->bound[$task])) {
            $this->takeBack($this->bound[$task]);
        }
    }

    /** All that is bound to tasks comes back. */
    public function takeBackAll(): void
    {
        foreach ($this->bound as $entry) {
            $this->takeBack($entry);
        }
    }

    /**
     * A wait for an answer was ended early in this task: what it has is not used again.
     *
     * Who called what waited knows in most cases; but where PDO asks the server at the end of a statement, nobody hears of it.
     */
    public function interrupt(int $task): void
    {
        foreach ($this->store->entries as $entry) {
            if ($entry->owner === $task && $entry->state === State::Lent) {
                // Whatever else it was to be closed for: only one that broke is replaced while its task goes on.
                $entry->doomed = 'broken';
            }
        }
    }

    /** All that this task has comes back; `$interrupted`: a wait for an answer was ended early in it. */
    public function takeBackAtEnd(int $task, bool $interrupted = false): void
    {
        unset($this->watched[$task]);
        if ($interrupted) {
            $this->interrupt($task);
        }
        if (isset($this->bound[$task])) {
            $this->takeBack($this->bound[$task]);
        } elseif (!$this->binds) {
            foreach ($this->store->entries as $entry) {
                if ($entry->owner === $task && $entry->state === State::Lent) {
                    $this->takeBack($entry);
                }
            }
        }
    }

    private function takeBack(Entry $entry): void
    {
        unset($this->bound[$entry->owner]);
        $now = monotonic();
        $this->statistics->useTime->record($now - $entry->borrowedAt);
        $entry->usedAt = $now;
        ++$entry->lease;
        $entry->state = State::Reserved;
        if ($entry->trace !== null) {
            $this->endTrace($entry, $now);
        }
        $reason = $entry->doomed ?? ($entry->statements > 0 || $entry->wornOutAt <= $now ? $this->wornOut($entry) : null);
        if ($reason !== null) {
            ($this->destroy)($entry, $reason);

            return;
        }
        try {
            $changed = $this->resets && ($this->driver === null || $this->driver->needsReset($entry));
        } catch (\Throwable) {
            $changed = true;
        }
        $changed ? $this->reset->start($entry) : $this->store->release($entry);
    }

    private function endTrace(Entry $entry, float $now): void
    {
        $entry->trace = null;
        if ($entry->leakReported) {
            $entry->leakReported = false;
            $this->reporter->report('info', 'leak over', \sprintf('a connection reported as leaked came back after %.3f s', $now - $entry->borrowedAt));
        }
    }

    /** Why a connection that comes back is closed rather than lent again. */
    private function wornOut(Entry $entry): string
    {
        if ($entry->statements === 0) {
            return 'lifetime';
        }
        $this->reporter->report('warning', 'statement', 'a prepared statement outlived the loan of its connection, which is closed for that; '
            . 'keep the SQL, not the statement');

        return 'statement';
    }

    /**
     * Who has a connection, since when, and (with `leakThreshold`) where it was borrowed.
     *
     * @param int $most the $most that are out for longest
     * @return list<array{task: int, request: string, seconds: float, place: ?string}>
     */
    public function toArray(int $most): array
    {
        $out = \array_filter($this->store->entries, static fn (Entry $entry) => $entry->state === State::Lent);
        \usort($out, static fn (Entry $a, Entry $b) => $a->borrowedAt <=> $b->borrowedAt);
        $now = monotonic();

        return \array_map(fn (Entry $entry) => [
            'task' => $entry->owner,
            'request' => Internal\requestOf($entry->owner),
            'seconds' => $now - $entry->borrowedAt,
            'place' => $entry->trace === null ? null : Upkeep::place($entry->trace),
        ], \array_slice($out, 0, $most));
    }
}
