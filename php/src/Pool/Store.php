<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal\WaitQueue;

use function Hearth\Internal\monotonic;

/**
 * The connections of a pool, and the borrowers that wait for one.
 *
 * A connection is in `entries` from its making to its removal, and in `idle` exactly while any task may take it. While a
 * connection is idle, no task waits, unless the pool is paused, or the idle connections must be checked first.
 *
 * @internal
 */
final class Store
{
    /** Seconds that the database may work on a cancelled query before the connection counts as closed. */
    private const DRAIN_TIMEOUT = 30.0;

    /** @var array<int, Entry> by the id of the connection object */
    public array $entries = [];

    /** @var list<Entry> the connection used last is at the end */
    public array $idle = [];

    public readonly WaitQueue $waiters;

    /** The limit for all workers together, null = no limit. */
    public ?Budget $budget = null;

    /** Number of connections being made. */
    public int $connecting = 0;

    /** Number of connections that are being checked, and will answer in a moment. */
    public int $checking = 0;

    /** Whether waiters are served, and idle connections lent. */
    public bool $open = true;

    /** Whether the pool is closed: no connection may join or stay. */
    public bool $closed = false;

    /** @var array<int, \Closure(): bool> for each removed connection that is still open: whether it still is */
    private array $lingering = [];

    public function __construct()
    {
        $this->waiters = new WaitQueue();
    }

    /** Returns the number that counts against the size: connections, those being made, and removed ones still open. */
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

    /** Gives a reserved connection that is ready to the first borrower that waits, or makes it idle. */
    public function release(Entry $entry): void
    {
        if ($this->open && $this->waiters->serve($entry) !== 0) {
            return;
        }
        $this->addIdle($entry);
    }

    /** Makes a connection idle; no task waits for one, or the pool is paused. */
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

    /** Reserves the idle connection that is lent next. There must be one. */
    public function takeIdle(string $order): Entry
    {
        $entry = $order === 'lifo' ? \array_pop($this->idle) : \array_shift($this->idle);
        $entry->state = State::Reserved;

        return $entry;
    }

    /** Reserves an idle connection; false if it is not idle. */
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
     * It may stay open afterwards, and still counts until it is closed: while code holds it, if it can only be closed by
     * being dropped; and with a limit for all workers, while the database works on a query that was cancelled.
     */
    public function remove(Entry $entry, Driver $driver): void
    {
        $this->reserve($entry);
        $connection = $entry->connection;
        unset($this->entries[\spl_object_id($connection)]);
        $entry->state = State::Removed;
        $entry->connection = null;
        // Freed after the connection was closed: then nothing is sent to the server.
        $kept = $entry->kept;
        $entry->kept = [];
        ++$entry->lease;
        if ($this->budget !== null && $entry->evictReason === 'broken' && self::disconnect($driver, $connection)) {
            $until = monotonic() + self::DRAIN_TIMEOUT;
            $this->linger(static fn () => !$driver->hasLeft($connection) && monotonic() < $until);

            return;
        }
        $reference = \WeakReference::create($connection);
        $connection = null;
        $held = $reference->get();
        if ($held === null || self::disconnect($driver, $held)) {
            $this->giveUp(1);
        } else {
            $this->linger(static fn () => $reference->get() !== null);
        }
    }

    /** Closes a connection; one that cannot be closed is open until no code holds it any more. */
    private static function disconnect(Driver $driver, object $connection): bool
    {
        try {
            return $driver->disconnect($connection);
        } catch (\Throwable) {
            return false;
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

    /** @return int number of lingering connections that have been closed since */
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

    /** Fails all borrowers that wait. */
    public function failWaiters(\Throwable $error): void
    {
        while ($this->waiters->serve($error) !== 0);
    }

    /** After a fork, the connections are the parent's: they are kept, so that nothing is sent on them, and never used. */
    public function leaveToParent(): void
    {
        foreach ($this->entries as $entry) {
            // Statements made on it, for example at boot, are the parent's too.
            ++$entry->lease;
        }
        static $parents = [];
        $parents[] = [$this->entries, \array_map(static fn (Entry $entry) => $entry->connection, $this->entries)];
        $this->entries = $this->idle = [];
        $this->connecting = $this->checking = 0;
    }
}
