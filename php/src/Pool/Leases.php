<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;
use Hearth\Internal\LeaseTable;
use Hearth\Internal\EffectiveTask;

use function Hearth\Internal\monotonic;

/**
 * The leases of a pool: which task has which connection, how one is lent, and what happens when it comes back.
 *
 * @internal
 */
final class Leases
{
    /** The most leases that the server shows. */
    public const MOST_SHOWN = 20;

    /** The process in which tasks borrow; 0 = no task has borrowed yet. */
    public int $process = 0;

    private readonly LeaseTable $leaseTable;

    /** Whether there may be something to reset on a return. */
    private bool $resets;

    /** The driver that tells whether there is; null: there always is. */
    private ?Driver $driver = null;

    /** Whether the place of each lease is recorded. */
    private readonly bool $traces;

    /** Whether the app's check is called before each lease. */
    private readonly bool $hasCheck;

    /** Whether an idle connection may be lent without further checks. */
    private readonly bool $quick;

    /** @var \WeakMap<object, int> connections that broke while a task had them and were replaced, with the task */
    private readonly \WeakMap $replaced;

    private Acquirer $acquirer;
    private Reset $reset;
    private Check $check;
    private QueryCancel $cancel;

    /** @param \Closure(): void $prepare called before the first lease in a process, and if the pool is closed */
    public function __construct(
        private readonly string $name,
        private readonly Options $options,
        private readonly Store $store,
        private readonly Statistics $statistics,
        private readonly Reporter $reporter,
        private readonly \Closure $prepare,
        private readonly Eviction $eviction,
    ) {
        $this->replaced = new \WeakMap();
        $this->resets = $options->reset !== 'none';
        $this->traces = $options->leakThreshold > 0;
        $this->hasCheck = $options->check !== null;
        $this->quick = $options->order === 'lifo' && $options->check === null && !$this->traces;
        $this->leaseTable = new LeaseTable(
            $name, $store->waiters, $statistics->borrowTime, $statistics->useTime, $this->returned(...), $options->bindToTask, $options->autoReturn,
        );
        $this->leaseTable->know($this->resets, false);
        $this->serve(true);
    }

    /** Sets the objects of this process. Leases of another process are not known here. */
    public function begin(Acquirer $acquirer, Reset $reset, Check $check, QueryCancel $cancel): void
    {
        $this->cancel = $cancel;
        $this->check = $check;
        $this->acquirer = $acquirer;
        $this->reset = $reset;
        $this->leaseTable->begin();
    }

    /** Learns from the first connection whether there is anything to reset. */
    public function learn(Driver $driver): void
    {
        if ($this->options->reset instanceof \Closure) {
            return;
        }
        $this->driver = $driver;
        $this->resets = $this->options->reset !== 'none' && !$driver instanceof AnyDriver;
        $this->leaseTable->know($this->resets, !($driver instanceof PdoDriver && $driver->resetsAlways));
    }

    /** Called when the entry no longer belongs to the pool. */
    public function forget(Entry $entry): void
    {
        $this->leaseTable->forget($entry);
    }

    /** Returns the connection of the current task, null if it has none. */
    public function current(): ?Entry
    {
        return $this->leaseTable->current();
    }

    /**
     * Lends a connection to the current task, or the one that it has.
     *
     * @param float|null $timeout seconds, null = the pool's
     * @throws PoolException|\Hearth\CancelledError
     */
    public function borrow(?float $timeout): Entry
    {
        $entry = $this->leaseTable->current();
        if ($entry === null) {
            return $this->lend($timeout);
        }
        if ($entry->evictReason === 'broken') {
            $renewed = $this->renewed($entry);
            if ($renewed !== $entry) {
                return $renewed;
            }
        }
        ++$entry->depth;

        return $entry;
    }

    /**
     * Returns the connection of the current task; the first call borrows it.
     *
     * @throws PoolException|\Hearth\CancelledError
     */
    public function ofTask(): Entry
    {
        return $this->leaseTable->current() ?? $this->lend(null);
    }

    /**
     * Replaces a broken connection of the current task by another.
     *
     * The broken one stays, and fails, as long as its task would not notice the loss of what it had begun: a transaction, or
     * settings of the session.
     */
    public function renewed(Entry $broken): Entry
    {
        if ($this->driver === null || $this->driver->holdsState($broken)) {
            return $broken;
        }
        $this->replaced[$broken->connection] = $broken->owner;
        $this->takeBack($broken);

        return $this->ofTask();
    }

    private function lend(?float $timeout): Entry
    {
        $store = $this->store;
        if ($this->process !== Internal\processId() || $store->closed) {
            ($this->prepare)();
        }
        $now = monotonic();
        if ($this->quick && $store->idle !== [] && $store->open && $now - $store->idle[\count($store->idle) - 1]->usedAt < Check::RECENT) {
            // A short cut with the same effect as the rest.
            $entry = \array_pop($store->idle);
            $this->leaseTable->lend($entry, $now, $now);
        } else {
            $entry = $this->acquirer->take($timeout, $now);
            $this->leaseTable->lend($entry, $now);
        }
        if ($this->traces) {
            $entry->trace = \debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 20);
        }

        return $entry;
    }

    /** Sets whether borrowers that wait are served: not while the pool is paused. */
    public function serve(bool $open): void
    {
        // With a check of the app, no connection passes directly to the next borrower.
        $this->leaseTable->handOn($open && !$this->hasCheck);
    }

    /** @throws NotBorrowed */
    public function giveBack(object $connection): void
    {
        $entry = $this->leaseTable->find($connection);
        if ($entry === null) {
            $this->refuse($connection);
        } elseif (--$entry->depth === 0) {
            $this->takeBack($entry);
        }
    }

    /** Handles the return of a connection that is not lent to this task. */
    private function refuse(object $connection): void
    {
        if ($this->isReplaced($connection)) {
            return;
        }
        ++$this->statistics->staleReturns;
        throw new NotBorrowed($this->whyNotBorrowed($this->store->find($connection), EffectiveTask::id()));
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

    /** Takes back the connections of this task; 0 = those borrowed outside of tasks. */
    public function takeBackOf(int $task): void
    {
        while (($entry = $this->leaseTable->of($task)) !== null) {
            $this->takeBack($entry);
        }
    }

    /** Whether the connection broke while this task had it, and the task has got another since. */
    private function isReplaced(object $connection): bool
    {
        return isset($this->replaced[$connection]) && $this->replaced[$connection] === EffectiveTask::id();
    }

    /** Takes back all connections that are lent. */
    public function takeBackAll(): void
    {
        foreach ($this->store->entries as $entry) {
            if ($entry->state === State::Lent) {
                $this->takeBack($entry);
            }
        }
    }

    /**
     * Called when a wait of this task for an answer was ended early: the connection that was waited for is not used again.
     *
     * The code that waited knows in most cases; but where PDO queries the server at the end of a
     * statement, no code called it.
     */
    public function interrupt(int $task): void
    {
        foreach ($this->store->entries as $entry) {
            if ($entry->owner === $task && $entry->state === State::Lent && Internal\isInterrupted($entry->connection, $task)) {
                $entry->evictReason = 'broken';
                $this->cancel->start($entry);
            }
        }
    }

    /** Called when a fatal error ended what ran for this task: its connections may be in any state. */
    public function breakAll(int $task): void
    {
        foreach ($this->store->entries as $entry) {
            if ($entry->owner === $task && $entry->state === State::Lent) {
                // Overrides other reasons: only a broken connection is replaced while its task goes on.
                $entry->evictReason = 'broken';
            }
        }
    }

    private function takeBack(Entry $entry): void
    {
        $inOrder = $this->leaseTable->takeBack($entry);
        if ($inOrder !== null) {
            $this->returned($entry, $inOrder);
        }
    }

    /**
     * Handles a connection that came back and was not handed on at once to a task that waits.
     *
     * @param bool $inOrder whether it can be lent again as it is
     */
    private function returned(Entry $entry, bool $inOrder): void
    {
        if ($inOrder) {
            $this->hasCheck ? $this->release($entry) : $this->store->addIdle($entry);

            return;
        }
        if (Internal\isInterrupted($entry->connection, $entry->owner)) {
            $entry->evictReason = 'broken';
            $this->cancel->start($entry);
        }
        if ($entry->trace !== null) {
            $this->endTrace($entry);
        }
        if ($entry->evictReason === null && Internal\isInUse($entry->connection)) {
            $entry->evictReason = 'in use';
            $this->reporter->report('warning', 'in use', 'a connection came back while a task still waits on it, and is closed for that; await the '
                . 'tasks that use a connection before its lease ends');
        }
        if ($entry->statements > 0 && $entry->evictReason === null) {
            // The statement may be garbage that only the collector finds.
            \gc_collect_cycles();
        }
        $reason = $entry->evictReason ?? $this->wornOut($entry);
        if ($reason !== null) {
            $this->eviction->close($entry, $reason);

            return;
        }
        $this->needsReset($entry) ? $this->reset->start($entry) : $this->release($entry);
    }

    private function needsReset(Entry $entry): bool
    {
        try {
            return $entry->kept !== [] || ($this->resets && ($this->driver === null || $this->driver->needsReset($entry)));
        } catch (\Throwable) {
            return true;
        }
    }

    /** Hands the connection to a borrower that waits, after the app's check if there is one. */
    private function release(Entry $entry): void
    {
        if ($this->hasCheck && $this->store->waiters->count() > 0) {
            $this->check->start($entry);
        } else {
            $this->store->release($entry);
        }
    }

    private function endTrace(Entry $entry): void
    {
        $entry->trace = null;
        if ($entry->leakReported) {
            $entry->leakReported = false;
            $this->reporter->report('info', 'leak over', \sprintf('a connection reported as leaked came back after %.3f s', $entry->usedAt - $entry->borrowedAt));
        }
    }

    /** Returns why a connection that comes back must be closed; null: it is lent again. */
    private function wornOut(Entry $entry): ?string
    {
        $left = match (true) {
            $entry->statements > 0 => 'a prepared statement outlived the lease of its connection, which is closed for that; keep the SQL, not the statement',
            !$entry->watched && Internal\hasUnreadResult($entry->connection) => 'a connection came back with a result that was not read to its end, and is '
                . 'closed for that; read all rows, or close the cursor',
            default => null,
        };
        if ($left !== null) {
            $this->reporter->report('warning', 'statement', $left);

            return 'statement';
        }

        return $entry->wornOutAt <= $entry->usedAt ? 'lifetime' : null;
    }

    /**
     * Lists which task has a connection, since when, and (with `leakThreshold`) where it was borrowed.
     *
     * @param int $most the most leases to list; the longest come first
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
            'place' => $entry->trace === null ? null : Maintenance::place($entry->trace),
        ], \array_slice($out, 0, $most));
    }
}
