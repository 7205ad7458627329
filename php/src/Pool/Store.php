<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal\WaitQueue;

use function Hearth\Internal\monotonic;

/**
 * The connections of a pool, and the borrowers that wait for one.
 *
 * A connection is in `entries` from its making to its removal, and in `idle` exactly while any task may take it. While one is idle,
 * no task waits, unless the pool is paused, or those idle are to be asked first whether they work.
 *
 * @internal
 */
final class Store
{
    /** How long the database may be at work on a cancelled query before the connection counts as closed; seconds. */
    private const DRAIN_TIMEOUT = 30.0;

    /** @var array<int, Entry> by the id of the connection object */
    public array $entries = [];

    /** @var list<Entry> the one used last at the end */
    public array $idle = [];

    public readonly WaitQueue $waiters;

    /** What all workers together may have, null = any number. */
    public ?Budget $budget = null;

    /** Connections being made. */
    public int $connecting = 0;

    /** Connections that are being asked whether they work, and will say so in a moment. */
    public int $asked = 0;

    /** Waiters are served, and idle connections lent. */
    public bool $open = true;

    /** No connection may join or stay. */
    public bool $closed = false;

    /** @var array<int, \Closure(): bool> of each that is not of the pool any more, but still open: whether it is */
    private array $lingering = [];

    public function __construct()
    {
        $this->waiters = new WaitQueue();
    }

    /** All that count against the size: connections, those being made, and those that are open after their removal. */
    public function total(): int
    {
        return \count($this->entries) + $this->connecting + ($this->lingering === [] ? 0 : \count($this->lingering));
    }

    public function find(object $connection): ?Entry
    {
        $entry = $this->entries[\spl_object_id($connection)] ?? null;

        return $entry?->connection === $connection ? $entry : null;
    }

    public function add(Entry $entry): void
    {
        $this->entries[\spl_object_id($entry->connection)] = $entry;
    }

    /** Gives a connection that is reserved, and ready, to the first that waits, or puts it among the idle ones. */
    public function release(Entry $entry): void
    {
        if ($this->open && $this->waiters->serve($entry) !== 0) {
            return;
        }
        $this->addIdle($entry);
    }

    /** No task waits for it, or the pool is paused. */
    public function addIdle(Entry $entry): void
    {
        $entry->state = State::Idle;
        $this->idle[] = $entry;
    }

    /** Serves the borrowers that waited while the pool was paused. */
    public function serveAll(): void
    {
        while ($this->open && $this->idle !== [] && $this->waiters->count() > 0) {
            $entry = \array_pop($this->idle);
            $entry->state = State::Reserved;
            if ($this->waiters->serve($entry) === 0) {
                $entry->state = State::Idle;
                $this->idle[] = $entry;
            }
        }
    }

    /** Takes the idle connection that is lent next, for the pool itself. There must be one. */
    public function takeIdle(string $order): Entry
    {
        $entry = $order === 'lifo' ? \array_pop($this->idle) : \array_shift($this->idle);
        $entry->state = State::Reserved;

        return $entry;
    }

    /** Takes an idle connection for the pool itself; false if it is not idle. */
    public function reserve(Entry $entry): bool
    {
        if ($entry->state !== State::Idle) {
            return false;
        }
        foreach ($this->idle as $index => $other) {
            if ($other === $entry) {
                \array_splice($this->idle, $index, 1);
                break;
            }
        }
        $entry->state = State::Reserved;

        return true;
    }

    /**
     * Takes a connection out of the pool and closes it.
     *
     * It may stay open beyond that, and is counted so long: while code holds it, where it can be closed only by being dropped;
     * and where all workers share a bound, while the database is at work on a query that was cancelled.
     */
    public function remove(Entry $entry, Driver $driver): void
    {
        $this->reserve($entry);
        $connection = $entry->connection;
        unset($this->entries[\spl_object_id($connection)]);
        $entry->state = State::Removed;
        $entry->connection = null;
        // They go with the connection's closing behind them: nothing is asked of the server then.
        $kept = $entry->kept;
        $entry->kept = [];
        ++$entry->lease;
        if ($this->budget !== null && $entry->doomed === 'broken' && $driver->disconnect($connection)) {
            $until = monotonic() + self::DRAIN_TIMEOUT;
            $this->linger(static fn () => !$driver->hasLeft($connection) && monotonic() < $until);

            return;
        }
        $reference = \WeakReference::create($connection);
        $connection = null;
        $held = $reference->get();
        if ($held === null || $driver->disconnect($held)) {
            $this->giveUp(1);
        } else {
            $this->linger(static fn () => $reference->get() !== null);
        }
    }

    /** @param \Closure(): bool $isOpen */
    private function linger(\Closure $isOpen): void
    {
        if ($isOpen()) {
            $this->lingering[] = $isOpen;
        } else {
            $this->giveUp(1);
        }
    }

    private function giveUp(int $count): void
    {
        if ($this->budget !== null && $count > 0) {
            $this->budget->releaseSoon($count);
        }
    }

    /** @return int how many that lingered have been closed since */
    public function sweep(): int
    {
        $before = \count($this->lingering);
        if ($before === 0) {
            return 0;
        }
        $this->lingering = \array_filter($this->lingering, static fn (\Closure $isOpen) => $isOpen());
        $closed = $before - \count($this->lingering);
        $this->giveUp($closed);

        return $closed;
    }

    public function lingering(): int
    {
        return \count($this->lingering);
    }

    /** Lets all borrowers that wait fail. */
    public function failWaiters(\Throwable $error): void
    {
        while ($this->waiters->serve($error) !== 0);
    }

    /** After a fork the connections are the parent's: they are kept, so that nothing is sent on them, and never used. */
    public function leaveToParent(): void
    {
        foreach ($this->entries as $entry) {
            // What was made on it, a statement at boot say, is the parent's too.
            ++$entry->lease;
        }
        static $parents = [];
        $parents[] = [$this->entries, \array_map(static fn (Entry $entry) => $entry->connection, $this->entries)];
        $this->entries = $this->idle = [];
        $this->connecting = $this->asked = 0;
    }
}
