<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

use function Hearth\Internal\monotonic;

/**
 * Connections that tasks borrow and give back. Each worker has its own; `total` limits those of all workers together.
 *
 * ```php
 * $pool = new Hearth\Pool\Pool(factory: fn (): PDO => new PDO($dsn, $user, $password), size: 64, minimumIdle: 32);
 * $rows = $pool->with(fn (PDO $db) => $db->query('…')->fetchAll());
 * ```
 *
 * A borrower that must wait takes the first connection that becomes free, new or returned; first come, first served. A
 * returned connection is made as new: open transactions are rolled back (and reported), the session is reset.
 *
 * @template T of object
 */
final class Pool
{
    private readonly Options $options;
    private readonly string $name;
    private readonly Store $store;
    private readonly Statistics $statistics;
    private readonly ConnectBackoff $backoff;
    private readonly Reporter $reporter;
    private Connector $connector;
    private Maintenance $maintenance;
    private readonly Leases $leases;
    private readonly Eviction $eviction;
    private \Closure $factory;

    /** The process that the connections belong to. */
    private int $builtIn = 0;

    /**
     * @param callable(): T $factory makes a connection; an exception is reported, and it is tried again with growing delays
     * @param int|null $size most connections at once in this worker; null = 4 × cores
     * @param int|null $minimumIdle connections kept open; 0 = only on demand, = $size: always full; null = 2 × cores
     * @param float $idleTimeout seconds after which an idle connection above the minimum is closed
     * @param float $maxLifetime seconds (± 2.5 %) after which a connection is replaced, never while borrowed
     * @param float $borrowTimeout longest wait of a borrower in seconds, then `BorrowTimeout`
     * @param float $returnTimeout seconds; a returned connection that cannot be reset in this time is closed
     * @param float $reserveTimeout seconds that the pool waits for a quiet moment to replace a busy connection past its
     *     lifetime; then it is replaced at its next return, even if other tasks wait
     * @param bool $bindToTask whether one task always gets the same connection
     * @param bool $autoReturn whether connections come back when their task ends, however it ends
     * @param float $leakThreshold seconds after which a borrowed connection is reported, with where it was borrowed; 0 = off
     * @param (callable(T): mixed)|null $keepalive called for connections that were idle for $keepaliveInterval; false or an
     *     exception: the connection is closed and replaced
     * @param float $keepaliveInterval seconds, − 0 to 20 %
     * @param (callable(T): mixed)|null $check called before each lease; false or an exception: another connection is taken.
     *     Without it, a connection that was idle for $checkAfter is checked as its kind needs (PDO, Redis)
     * @param float $checkAfter seconds
     * @param 'auto'|'transaction'|'none'|callable(T): mixed $reset on return: 'auto' = roll back and reset the session by
     *     the database's own means; 'transaction' = only roll back; a callable: false or an exception closes the connection
     * @param (callable(T): mixed)|null $init called for each new connection and after each reset
     * @param object|null $logger PSR-3; null = PHP's error log, warnings only
     * @param int|null $total most connections at once in all workers of the server
     * @param int|null $maxWaiters number of borrowers that may wait, further ones fail at once; null = any number
     * @param int $maxConnecting connections being made at once
     * @param float $connectTimeout seconds after which an attempt to connect is given up
     * @param 'lifo'|'fifo' $order lends the idle connection that was used last, so that the others can be closed, or first
     * @param string|null $name for logs, metrics and $total; pools with the same name share the budget
     * @param float $validationTimeout seconds without an answer after which a checked connection counts as broken
     * @throws \ValueError that names all invalid options
     */
    public function __construct(
        callable $factory,
        ?int $size = null,
        ?int $minimumIdle = null,
        float $idleTimeout = 30.0,
        float $maxLifetime = 300.0,
        float $borrowTimeout = 1.0,
        float $returnTimeout = 1.0,
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
        float $validationTimeout = 1.0,
    ) {
        $closure = static fn (?callable $callable): ?\Closure => $callable === null ? null : \Closure::fromCallable($callable);
        $isWord = \in_array($reset, ['auto', 'transaction', 'none'], true) || (\is_string($reset) && !\is_callable($reset));
        $this->options = new Options(
            $size, $minimumIdle, $idleTimeout, $maxLifetime, $borrowTimeout, $returnTimeout, $reserveTimeout, $bindToTask, $autoReturn,
            $leakThreshold, $closure($keepalive), $keepaliveInterval, $closure($check), $checkAfter,
            $isWord ? $reset : \Closure::fromCallable($reset), $closure($init), $total, $maxWaiters, $maxConnecting, $connectTimeout, $order,
            $validationTimeout,
        );
        $this->factory = \Closure::fromCallable($factory);
        $this->name = $name ?? Pools::nextName();
        $this->store = new Store();
        $this->statistics = new Statistics($this->store);
        $this->backoff = new ConnectBackoff();
        $this->reporter = new Reporter($this->name, $logger);
        $this->eviction = new Eviction($this->store, $this->statistics);
        $this->leases = new Leases(
            $this->name, $this->options, $this->store, $this->statistics, $this->reporter, $this->prepare(...), $this->eviction,
        );
        Pools::add($this);
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
     * Calls $fn with a connection, and takes the connection back however $fn ends.
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
            if ($this->eviction->isBroken($connection, $error)) {
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
        return $this->leases->borrow($timeout)->connection;
    }

    /** @internal for `Pdo` and `Redis`: the connection of the current task, null if it has none */
    public function current(): ?Entry
    {
        return $this->leases->current();
    }

    /** @internal for `Pdo` and `Redis`: the leases of this pool */
    public function leases(): Leases
    {
        return $this->leases;
    }

    /**
     * Takes a connection back. With `autoReturn` that happens automatically when the task ends.
     *
     * @param T $connection
     * @throws NotBorrowed when the current task has not borrowed it, or not from this pool, or has given it back already
     */
    public function giveBack(object $connection): void
    {
        $this->leases->giveBack($connection);
    }

    /** Makes sure that a connection that misbehaved is not lent again: it is closed when it comes back. */
    public function evict(object $connection): void
    {
        $entry = $this->store->find($connection);
        if ($entry !== null) {
            $this->eviction->evict($entry, 'broken');
        }
    }

    /** Starts to keep the minimum of connections. The server calls this when a worker starts; so does the first borrower. */
    public function start(): void
    {
        $process = Internal\processId();
        if ($this->builtIn !== $process) {
            $this->build($process);
        }
        if ($this->leases->process !== $process && Internal\taskId() !== 0 && !$this->store->closed) {
            $this->leases->process = $process;
            // Connections borrowed at boot come back when the first task runs.
            $this->leases->takeBackOf(0);
            $this->connector->ensure();
            $this->maintenance->start();
        }
    }

    private function build(int $process): void
    {
        if ($this->store->entries !== []) {
            $this->store->leaveToParent();
        }
        $this->builtIn = $process;
        $budget = $this->store->budget = $this->options->total === null ? null : new Budget($this->name, $this->options->total);
        $this->connector = new Connector(
            $this->name, $this->factory, $this->options, $this->store, $this->statistics, $this->backoff, $budget, $this->reporter,
            $this->connected(...),
        );
        $this->eviction->begin($this->leases, $this->connector);
        $this->maintenance = new Maintenance(
            $this->options, $this->store, $this->connector, $this->statistics, $budget, $this->reporter, $this->eviction,
        );
        $check = new Check($this->options, $this->store, $this->connector, $this->statistics, $this->reporter, $this->eviction);
        $reset = new Reset($this->options, $this->connector, $this->statistics, $this->reporter, $this->eviction);
        $acquirer = new Acquirer(
            $this->name, $this->options, $this->store, $this->connector, $check, $this->backoff, $this->statistics, $this->eviction,
        );
        $cancel = new QueryCancel(
            $this->factory, $this->options, $this->store, $this->connector, $this->backoff, $budget, $this->reporter, $this->eviction,
        );
        $this->leases->begin($acquirer, $reset, $check, $cancel);
    }

    private function connected(Entry $entry): void
    {
        $this->leases->learn($this->connector->driver());
        $this->eviction->settle($entry);
        if (!$this->store->closed) {
            $this->maintenance->successorCame();
            $this->maintenance->start();
        }
    }

    /** Called when a borrower finds a new process, or a closed pool. */
    private function prepare(): void
    {
        if ($this->store->closed) {
            throw new PoolClosed("pool \"$this->name\" is closed");
        }
        $this->start();
    }

    /** Makes borrowers wait until `resume()`, as if all connections were in use; lent connections come back as usual. */
    public function pause(): void
    {
        $this->store->open = false;
        $this->leases->serve(false);
    }

    public function resume(): void
    {
        $this->store->open = true;
        $this->leases->serve(true);
        $this->store->serveAll();
        if (Internal\taskId() !== 0 && $this->leases->process !== 0) {
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
            $this->eviction->evict($entry, 'recycled');
        }
    }

    /**
     * Closes the pool: idle connections now, lent ones when they come back. A borrower that waits gets `PoolClosed`.
     *
     * @param float|null $timeout seconds to wait for lent connections; null = for ever, 0 = do not wait
     * @return bool whether all are closed
     */
    public function close(?float $timeout = 0.0): bool
    {
        $this->store->closed = true;
        Pools::remove($this);
        $this->store->failWaiters(new PoolClosed("pool \"$this->name\" was closed"));
        if ($this->builtIn !== 0) {
            $this->connector->stop();
            $this->maintenance->stop();
        }
        foreach ($this->store->entries as $entry) {
            $this->eviction->evict($entry, 'closed');
        }
        $until = $timeout === null ? \INF : monotonic() + $timeout;
        while (($this->store->entries !== [] || $this->store->connecting > 0) && monotonic() < $until && Internal\taskId() !== 0) {
            Internal\park(0.01);
        }

        return $this->store->entries === [] && $this->store->connecting === 0;
    }

    /** @internal closes the pool and takes back lent connections: no task can use them any more */
    public function abandon(): void
    {
        if (!$this->store->closed) {
            $this->close();
            $this->leases->takeBackAll();
        }
    }

    /**
     * Returns how many connections there are, and what has happened to them; `/metrics` has the same.
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

    /**
     * @internal called when a fatal error ended a task: its connections are not used again
     *
     * @param int $owner the borrower of those: the task itself, or the one that goes on after its `timeout()`
     */
    public function taskBroke(int $task, int $owner): void
    {
        $this->leases->breakAll($owner);
        if ($owner === $task) {
            $this->leases->takeBackOf($task);
        }
    }

    /**
     * @internal returns what the server shows of this pool
     * @return array<string, mixed>
     */
    public function report(): array
    {
        return [
            'name' => $this->name,
            'size' => $this->options->size,
            'minimum_idle' => $this->options->minimumIdle,
            'budget' => $this->options->total,
            'leases' => $this->leases->toArray(Leases::MOST_SHOWN),
        ] + $this->statistics->report();
    }

    public function name(): string
    {
        return $this->name;
    }

    /** @return array<string, mixed> without the factory, which knows the password */
    public function __debugInfo(): array
    {
        return ['name' => $this->name, 'size' => $this->options->size] + $this->statistics->toArray();
    }

    public function __serialize(): array
    {
        throw new \Exception('a pool cannot be serialized');
    }

    /** @internal resets each connection after each lease from now on, because the app asks for what its session remembers */
    public function resetAlways(): void
    {
        $driver = $this->connector->driver();
        if ($driver instanceof PdoDriver && !$driver->resetsAlways) {
            $driver->resetsAlways = true;
            $this->leases->learn($driver);
        }
    }

    /** @internal returns the driver of this pool's connections */
    public function driver(): Driver
    {
        return $this->connector->driver();
    }
}
