<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;
use Hearth\Internal\Scope;
use Hearth\Internal\Waiter;

use function Hearth\Internal\monotonic;

/**
 * Connections that tasks borrow and give back. Each worker has its own; `total` bounds those of all workers together.
 *
 * ```php
 * $pool = new Hearth\Pool\Pool(factory: fn (): PDO => new PDO($dsn, $user, $password), size: 64, minimumIdle: 32);
 * $rows = $pool->with(fn (PDO $db) => $db->query('…')->fetchAll());
 * ```
 *
 * A borrower that must wait takes the first connection that becomes free, new or returned; those who wait are served first come
 * first served. A connection is given back as it was when new: open transactions are rolled back (and reported), the session is reset.
 *
 * @template T of object
 */
final class Pool
{
    private readonly Options $options;
    private readonly string $name;
    private readonly Store $store;
    private readonly Statistics $statistics;
    private readonly Circuit $circuit;
    private readonly Reporter $reporter;
    private Connector $connector;
    private Upkeep $upkeep;
    private Check $check;
    private Reset $reset;
    private \Closure $factory;
    private \Closure $passOn;

    /** @var array<int, Entry> by the task that has it */
    private array $bound = [];

    /** @var array<int, true> tasks at whose end connections come back */
    private array $watched = [];

    /** Whether one task always gets the same connection. */
    private readonly bool $binds;

    /** Whether there may be something to reset on a return. */
    private bool $resets;

    /** Whether an idle connection may be lent without further ado. */
    private readonly bool $quick;

    /** Whether PHP code can fork, so that each borrower must make sure that the connections are of its process. */
    private readonly bool $mayFork;

    /** The process in which tasks borrow; 0 = none has yet. */
    private int $process = 0;

    /** The process that the connections belong to. */
    private int $builtIn = 0;

    /**
     * @param callable(): T $factory makes a connection; whatever it throws is reported and tried again, later and later
     * @param int|null $size most connections at once in this worker; null = 4 × cores
     * @param int|null $minimumIdle connections kept open; 0 = only on demand, = $size: always full; null = 2 × cores
     * @param float $idleTimeout an idle one above the minimum is closed after so many seconds
     * @param float $maxLifetime seconds (± 2.5 %) after which one is replaced, never while borrowed
     * @param float $borrowTimeout longest wait of a borrower in seconds, then `BorrowTimeout`
     * @param float $returnTimeout seconds; one that cannot be reset in this time on its return is closed
     * @param float $reserveTimeout seconds that the pool waits for a quiet moment to replace a busy connection past its lifetime;
     *     then it does so at its next return, even if others wait
     * @param bool $bindToTask one task always gets the same connection
     * @param bool $autoReturn connections come back when their task ends, however it ends
     * @param float $leakThreshold a connection out for longer is reported, with where it was borrowed; 0 = off
     * @param (callable(T): mixed)|null $keepalive called for connections that were idle for $keepaliveInterval; false or an
     *     exception: it is closed and replaced
     * @param float $keepaliveInterval seconds, − 0 to 20 %
     * @param (callable(T): mixed)|null $check called before each loan; false or an exception: another is taken. Without it, what was
     *     idle for $checkAfter is checked as its kind needs (PDO, Redis)
     * @param float $checkAfter seconds
     * @param 'auto'|'transaction'|'none'|callable(T): mixed $reset on return: 'auto' = roll back and reset the session by the
     *     database's own means; 'transaction' = only roll back; or a callable: false or an exception: it is closed
     * @param (callable(T): mixed)|null $init called for each new connection and after each reset
     * @param object|null $logger PSR-3; null = PHP's error log, warnings only
     * @param int|null $total most connections at once in all workers of the server
     * @param int|null $maxWaiters so many may wait, others fail at once; null = any number
     * @param int $maxConnecting connections being made at once
     * @param float $connectTimeout seconds after which an attempt to connect is given up
     * @param 'lifo'|'fifo' $order which idle connection is lent: the one used last, so that the others can be closed, or first
     * @param string|null $name for logs, metrics and $total; pools with the same name share the budget
     * @throws \ValueError that names all options that make no sense
     */
    public function __construct(
        callable $factory,
        ?int $size = null,
        ?int $minimumIdle = null,
        float $idleTimeout = 30.0,
        float $maxLifetime = 300.0,
        float $borrowTimeout = 1.0,
        float $returnTimeout = 0.1,
        float $reserveTimeout = 0.5,
        bool $bindToTask = true,
        bool $autoReturn = true,
        float $leakThreshold = 0.0,
        ?callable $keepalive = null,
        float $keepaliveInterval = 60.0,
        ?callable $check = null,
        float $checkAfter = 1.0,
        string|callable $reset = 'auto',
        ?callable $init = null,
        ?object $logger = null,
        ?int $total = null,
        ?int $maxWaiters = null,
        int $maxConnecting = 2,
        float $connectTimeout = 5.0,
        string $order = 'lifo',
        ?string $name = null,
    ) {
        $closure = static fn (?callable $callable): ?\Closure => $callable === null ? null : \Closure::fromCallable($callable);
        $isWord = \in_array($reset, ['auto', 'transaction', 'none'], true) || (\is_string($reset) && !\is_callable($reset));
        $this->options = new Options(
            $size, $minimumIdle, $idleTimeout, $maxLifetime, $borrowTimeout, $returnTimeout, $reserveTimeout, $bindToTask, $autoReturn,
            $leakThreshold, $closure($keepalive), $keepaliveInterval, $closure($check), $checkAfter,
            $isWord ? $reset : \Closure::fromCallable($reset), $closure($init), $total, $maxWaiters, $maxConnecting, $connectTimeout, $order,
        );
        $this->factory = \Closure::fromCallable($factory);
        $this->name = $name ?? Pools::nextName();
        $this->store = new Store();
        $this->statistics = new Statistics($this->store);
        $this->circuit = new Circuit();
        $this->reporter = new Reporter($this->name, $logger);
        $this->passOn = $this->store->passOn(...);
        $this->binds = $bindToTask;
        $this->resets = $reset !== 'none';
        $this->quick = $order === 'lifo' && $check === null && $leakThreshold == 0;
        $this->mayFork = \function_exists('pcntl_fork');
        Pools::add($this->name, $this);
        if (Internal\taskId() === 0) {
            Internal\after(0.0, self::starter(\WeakReference::create($this)));
        }
    }

    /** @param \WeakReference<self> $pool */
    private static function starter(\WeakReference $pool): \Closure
    {
        return static function () use ($pool): void {
            $pool->get()?->start();
        };
    }

    /**
     * Calls $fn with a connection, and takes it back however $fn ends.
     *
     * @template R
     * @param callable(T): R $fn
     * @param float|null $timeout longest wait for a connection in seconds; null = $borrowTimeout of the pool
     * @return R
     * @throws BorrowTimeout|PoolClosed|\Hearth\CancelledError
     */
    public function with(callable $fn, ?float $timeout = null): mixed
    {
        $connection = $this->borrow($timeout);
        try {
            return $fn($connection);
        } catch (\Throwable $error) {
            if ($this->connector->driver()->isBroken($error)) {
                $this->evict($connection);
            }
            throw $error;
        } finally {
            $this->giveBack($connection);
        }
    }

    /**
     * Lends a connection: the one that this task has (with `bindToTask`), an idle one, or the first that becomes free.
     *
     * @param float|null $timeout longest wait in seconds; null = $borrowTimeout of the pool
     * @return T
     * @throws BorrowTimeout|PoolClosed|\Hearth\CancelledError
     */
    public function borrow(?float $timeout = null): object
    {
        return $this->borrowEntry($timeout)->connection;
    }

    /** @internal for `Pdo` and `Redis`: the connection of the current task, null if it has none */
    public function current(): ?Entry
    {
        $task = Internal\taskId();

        return $this->bound[Scope::$callers[$task] ?? $task] ?? null;
    }

    /** @internal for `Pdo` and `Redis` */
    public function borrowEntry(?float $timeout = null): Entry
    {
        $task = Internal\taskId();
        $task = Scope::$callers[$task] ?? $task;
        if (isset($this->bound[$task])) {
            $entry = $this->bound[$task];
            ++$entry->depth;

            return $entry;
        }
        $now = monotonic();
        $store = $this->store;
        if ($this->quick && $store->idle !== [] && $store->open && isset($this->watched[$task])
                && $now - $store->idle[\count($store->idle) - 1]->usedAt < Check::RECENT && (!$this->mayFork || $this->process === \getmypid())) {
            // The short way; it does what the rest would do.
            $entry = \array_pop($store->idle);
            ++$this->statistics->borrowTime->counts[0];
        } else {
            $entry = $this->takeOrAwait($timeout, $task, $now);
            $now = $entry->borrowedAt;
        }
        $entry->state = State::Lent;
        $entry->owner = $task;
        $entry->depth = 1;
        $entry->borrowedAt = $now;
        ++$entry->lease;
        ++$this->statistics->borrowed;
        if ($this->binds) {
            $this->bound[$task] = $entry;
        }

        return $entry;
    }

    private function takeOrAwait(?float $timeout, int $task, float $now): Entry
    {
        if ($this->process !== \getmypid() || $task === 0 || $this->store->closed) {
            $this->prepare($task);
        }
        $entry = $this->takeIdle($now);
        if ($entry === null) {
            $entry = $task === 0 ? $this->connector->makeNow() : $this->await($timeout ?? $this->options->borrowTimeout, $now);
            $now = monotonic();
        } else {
            ++$this->statistics->borrowTime->counts[0];
        }
        if ($this->options->autoReturn && !isset($this->watched[$task]) && $task !== 0) {
            $this->watched[$task] = true;
            Internal\onTaskEnd($task, fn () => $this->taskEnded($task));
        }
        if ($this->options->leakThreshold > 0) {
            $entry->trace = \debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 20);
        }
        $entry->borrowedAt = $now;

        return $entry;
    }

    /** An idle connection that works, null if there is none, or if others wait. */
    private function takeIdle(float $now): ?Entry
    {
        while ($this->store->idle !== [] && $this->store->open && $this->store->waiters->first === null) {
            $entry = $this->options->order === 'lifo' ? \array_pop($this->store->idle) : \array_shift($this->store->idle);
            $entry->state = State::Reserved;
            if ($this->check->passes($entry, $now)) {
                return $entry;
            }
            $now = monotonic();
        }

        return null;
    }

    /** Waits for the first connection that becomes free, new or returned. */
    private function await(float $timeout, float $since): Entry
    {
        do {
            $this->mayWait();
            $entry = $this->takeNew();
            if ($entry !== null) {
                $this->statistics->borrowTime->record(monotonic() - $since);

                return $entry;
            }
            $waiter = new Waiter(Internal\taskId());
            $waiter->since = $since;
            $left = $since + $timeout - monotonic();
            if ($left <= 0 || !$this->store->waiters->wait($waiter, $left, $this->passOn)) {
                ++$this->statistics->timeouts;
                throw BorrowTimeout::of($this->name, "no connection came free within $timeout s", $this->statistics, $this->circuit->cause());
            }
            $entry = $waiter->value;
            if ($entry instanceof \Throwable) {
                throw $entry instanceof PoolException ? $entry
                    : BorrowTimeout::of($this->name, 'the database cannot be reached', $this->statistics, $entry);
            }
        } while ($this->options->check !== null && !$this->check->passes($entry, monotonic()));
        ++$this->statistics->servedWaiters;
        $this->statistics->borrowTime->record(monotonic() - $since);

        return $entry;
    }

    /** Has a connection made, and takes it if that needed no wait, or any that has become idle. */
    private function takeNew(): ?Entry
    {
        do {
            $this->connector->ensure(1);
            $entry = $this->takeIdle(monotonic());
            // Those that were idle may all have been broken: then one more must be made.
            $this->connector->ensure($entry === null ? 1 : 0);
        } while ($entry === null && $this->store->idle !== [] && $this->store->open && $this->store->waiters->first === null);

        return $entry;
    }

    /** @throws PoolException when it makes no sense to wait */
    private function mayWait(): void
    {
        if ($this->store->closed) {
            throw new PoolClosed("pool \"$this->name\" is closed");
        }
        if ($this->options->maxWaiters !== null && $this->store->waiters->count() >= $this->options->maxWaiters) {
            throw BorrowTimeout::of($this->name, "as many wait as may (maxWaiters = {$this->options->maxWaiters})", $this->statistics, $this->circuit->cause());
        }
        if ($this->store->entries === [] && $this->circuit->isOpen() && $this->circuit->delay(monotonic()) > 0) {
            throw BorrowTimeout::of($this->name, 'the database cannot be reached', $this->statistics, $this->circuit->cause());
        }
    }

    /**
     * Takes a connection back. With `autoReturn` that happens by itself when the task ends.
     *
     * @param T $connection
     * @throws NotBorrowed when the current task does not have it: given back twice, borrowed by another task, or of another pool
     */
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

    /** The connection must not be lent again, because it misbehaved: it is closed when it comes back. */
    public function evict(object $connection): void
    {
        $entry = $this->store->find($connection);
        if ($entry !== null) {
            $this->doom($entry, 'broken');
        }
    }

    private function doom(Entry $entry, string $reason): void
    {
        $entry->doomed ??= $reason;
        if ($this->store->reserve($entry)) {
            $this->destroy($entry, $reason);
        }
    }

    private function taskEnded(int $task): void
    {
        unset($this->watched[$task]);
        if ($this->options->bindToTask) {
            $entry = $this->bound[$task] ?? null;
            if ($entry !== null) {
                $this->takeBack($entry);
            }

            return;
        }
        foreach ($this->store->entries as $entry) {
            if ($entry->owner === $task && $entry->state === State::Lent) {
                $this->takeBack($entry);
            }
        }
    }

    private function takeBack(Entry $entry): void
    {
        unset($this->bound[$entry->owner]);
        $now = monotonic();
        $this->statistics->useTime->record($now - $entry->borrowedAt);
        $entry->owner = -1;
        $entry->depth = 0;
        $entry->usedAt = $now;
        ++$entry->lease;
        $store = $this->store;
        if (!$this->resets && $store->waiters->first === null && $entry->wornOutAt > $now
                && $entry->doomed === null && $entry->statements === 0 && $entry->trace === null) {
            // The short way; it does what the rest would do.
            $entry->state = State::Idle;
            $store->idle[] = $entry;

            return;
        }
        $entry->state = State::Reserved;
        if ($entry->trace !== null) {
            $this->endTrace($entry, $now);
        }
        $reason = $entry->doomed ?? ($entry->statements > 0 || $entry->wornOutAt <= $now ? $this->wornOut($entry) : null);
        if ($reason !== null) {
            $this->destroy($entry, $reason);
        } elseif ($this->resets && $this->reset->isNeeded($entry)) {
            $this->reset->start($entry);
        } else {
            $store->release($entry);
        }
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

    /** Closes a connection that the pool has in its hands. */
    private function destroy(Entry $entry, string $reason): void
    {
        $this->statistics->countDestroyed($reason);
        $this->store->remove($entry);
        if ($this->process !== 0 && Internal\taskId() !== 0) {
            $this->connector->ensure();
        }
    }

    /** Begins to keep the minimum of connections. The server does so when a worker starts; so does the first borrower. */
    public function start(): void
    {
        $process = \getmypid();
        if ($this->builtIn !== $process) {
            $this->build($process);
        }
        if ($this->process !== $process && Internal\taskId() !== 0 && !$this->store->closed) {
            $this->process = $process;
            $this->connector->ensure();
            $this->upkeep->start();
        }
    }

    private function build(int $process): void
    {
        if ($this->store->entries !== []) {
            $this->leaveToParent();
        }
        $this->builtIn = $process;
        $budget = $this->store->budget = $this->options->total === null ? null : new Budget($this->name, $this->options->total);
        $this->connector = new Connector(
            $this->name, $this->factory, $this->options, $this->store, $this->statistics, $this->circuit, $budget, $this->reporter,
            $this->connected(...),
        );
        $destroy = $this->destroy(...);
        $this->upkeep = new Upkeep($this->options, $this->store, $this->connector, $this->statistics, $budget, $this->reporter, $destroy);
        $this->check = new Check($this->options, $this->connector, $this->statistics, $this->reporter, $destroy);
        $this->reset = new Reset($this->options, $this->store, $this->connector, $this->statistics, $this->reporter, $destroy);
    }

    private function connected(Entry $entry): void
    {
        if ($this->store->closed) {
            $this->destroy($entry, 'closed');

            return;
        }
        $this->resets = $this->reset->isPossible();
        $this->store->release($entry);
        $this->upkeep->successorCame();
        $this->upkeep->start();
    }

    /** What a borrower finds before anything else: a new process, no task, or a closed pool. */
    private function prepare(int $task): void
    {
        if ($this->store->closed) {
            throw new PoolClosed("pool \"$this->name\" is closed");
        }
        $this->start();
        if ($task !== 0 && isset($this->bound[0])) {
            $this->takeBack($this->bound[0]);
        }
    }

    /** After a fork the connections are the parent's: they are kept, so that nothing is sent on them, and never used. */
    private function leaveToParent(): void
    {
        static $parents = [];
        $parents[] = [$this->store->entries, \array_map(static fn (Entry $entry) => $entry->connection, $this->store->entries)];
        $this->store->entries = $this->store->idle = $this->bound = $this->watched = [];
        $this->store->connecting = 0;
    }

    /** Borrowers wait until `resume()`, as if all connections were in use; what is lent comes back as ever. */
    public function pause(): void
    {
        $this->store->open = false;
    }

    public function resume(): void
    {
        $this->store->open = true;
        $this->store->serveAll();
        if (Internal\taskId() !== 0 && $this->process !== 0) {
            $this->connector->ensure();
        }
    }

    /** Replaces all connections, for instance because the password or the address has changed: idle ones now, others on return. */
    public function recycle(): void
    {
        if ($this->builtIn === 0) {
            return;
        }
        $this->connector->forget();
        foreach ($this->store->entries as $entry) {
            $this->doom($entry, 'recycled');
        }
    }

    /**
     * Closes the pool: idle connections now, those out when they come back. Who waits gets `PoolClosed`.
     *
     * @param float|null $timeout seconds to wait for those out; null = for ever, 0 = do not wait
     * @return bool whether all are closed
     */
    public function close(?float $timeout = 0.0): bool
    {
        $this->store->closed = true;
        Pools::remove($this->name, $this);
        $this->store->failWaiters(new PoolClosed("pool \"$this->name\" was closed"));
        if ($this->builtIn !== 0) {
            $this->connector->stop();
            $this->upkeep->stop();
        }
        foreach ($this->store->entries as $entry) {
            $this->doom($entry, 'closed');
        }
        $until = $timeout === null ? \INF : monotonic() + $timeout;
        while (($this->store->entries !== [] || $this->store->connecting > 0) && monotonic() < $until && Internal\taskId() !== 0) {
            Internal\park(0.01);
        }

        return $this->store->entries === [] && $this->store->connecting === 0;
    }

    /** @internal closes the pool and takes back what is out: nobody can use it any more */
    public function abandon(): void
    {
        if (!$this->store->closed) {
            $this->close();
            foreach ($this->bound as $entry) {
                $this->takeBack($entry);
            }
        }
    }

    /**
     * How many connections there are, and what has happened to them; the same is on `/metrics`.
     *
     * @return array{
     *     total: int, idle: int, active: int, connecting: int, lingering: int, waiting: int, oldestWait: float, borrowed: int,
     *     servedWaiters: int, timeouts: int, created: int, failedConnects: int, failedChecks: int, resets: int, rollbacks: int,
     *     staleReturns: int, leaks: int, destroyed: array<string, int>,
     *     borrowTime: array<string, mixed>, useTime: array<string, mixed>, createTime: array<string, mixed>
     * }
     */
    public function stats(): array
    {
        return $this->statistics->toArray();
    }

    public function name(): string
    {
        return $this->name;
    }

    /** @internal what knows the connections of this pool */
    public function driver(): Driver
    {
        return $this->connector->driver();
    }
}
