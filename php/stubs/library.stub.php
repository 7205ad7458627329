<?php

// Made by generate.php from php/src. The classes and functions of Hearth that are written in PHP; for editors, not loaded at run time.

namespace Hearth {

/**
 * Thrown when a wait took longer than allowed.
 *
 * It is an `\Error`, so that a `catch (\Exception)` somewhere in a library does not swallow the request's time limit.
 */
class TimeoutError extends \Error
{}

/**
 * Thrown when the task is cancelled while it waits: by `Task::cancel()`, by a sibling's failure in `parallel()`, or
 * because the client hung up.
 *
 * Let it pass: it unwinds the task. It is an `\Error` for the same reason as `TimeoutError`.
 */
class CancelledError extends \Error
{}

/** Thrown when a value is sent into a closed channel, or received from one that is closed and empty. */
final class ChannelClosed extends \RuntimeException
{}

/**
 * A handler's response. Immutable: each `with…()` returns a changed copy.
 *
 * Without a `Content-Type` header the server sends `text/html; charset=UTF-8`.
 *
 * ```php
 * return (new Hearth\Response('<h1>Hello</h1>'))->withCookie('seen', '1')->withHeader('Cache-Control', 'no-store');
 * ```
 */
final class Response
{

    /**
     * @param string|iterable<string> $body an iterable is streamed, each piece sent as soon as it is there
     * @param int $status 200 to 599
     * @param array<string, string|int|float|list<string|int|float>> $headers
     * @throws \ValueError on a status out of range, or an invalid header
     */
    public function __construct(string|iterable $body = '', int $status = 200, array $headers = []) {}

    /**
     * Makes a response with any data as JSON, slashes and non-ASCII characters unescaped.
     *
     * @param int $flags additional `JSON_…` constants
     * @param array<string, string|list<string>> $headers
     * @throws \JsonException when $data cannot be encoded
     */
    public static function json(mixed $data, int $status = 200, array $headers = [], int $flags = 0): self {}

    /**
     * Makes a response that redirects the client to another location.
     *
     * @param int $status 301, 302, 303, 307 or 308
     * @throws \ValueError
     */
    public static function redirect(string $location, int $status = 302): self {}

    /**
     * Makes a response with a file, which the server itself sends, with ranges, `ETag` and `Last-Modified`.
     *
     * @param string $path path of the file, as the worker sees it
     * @param string|null $downloadAs makes the browser save the file under this name
     * @param array<string, string|list<string>> $headers the `Content-Type` follows from the file's extension unless given
     * @throws \ValueError
     */
    public static function file(string $path, ?string $downloadAs = null, array $headers = []): self {}

    /**
     * Makes a response whose body is made while it is sent: each piece is sent at once; a slow client suspends the task.
     *
     * @param iterable<string> $pieces
     * @param array<string, string|list<string>> $headers
     */
    public static function stream(iterable $pieces, int $status = 200, array $headers = []): self {}

    /**
     * Makes a response of server-sent events, for the browser's `EventSource`.
     *
     * Each item is the event's data, or an array with any of `data`, `event` (its type), `id`, `retry` (seconds as float) and
     * `comment`. Data that is no string is sent as JSON. A `null` sends a comment that keeps the connection alive.
     *
     * ```php
     * return Response::events((function () {
     *     foreach ($this->prices() as $id => $price) { yield ['event' => 'price', 'id' => $id, 'data' => $price]; }
     * })());
     * ```
     *
     * @param iterable<string|array<string, mixed>|\JsonSerializable|null> $events
     * @param array<string, string|list<string>> $headers
     */
    public static function events(iterable $events, array $headers = []): self {}

    /** @throws \ValueError */
    public function withStatus(int $status): self {}

    /**
     * Returns a copy with this header only, whatever it was before; names are case-insensitive.
     *
     * @param string|int|float|list<string|int|float> $value a list makes several lines
     * @throws \ValueError when the name or a value contains characters that a header must not have, such as line breaks
     */
    public function withHeader(string $name, string|int|float|array $value): self {}

    /**
     * Returns a copy with one more line of this header.
     *
     * @param string|int|float|list<string|int|float> $value
     * @throws \ValueError
     */
    public function withAddedHeader(string $name, string|int|float|array $value): self {}

    public function withoutHeader(string $name): self {}

    /**
     * Returns a copy with a cookie, as `setcookie()` makes it; the value is percent-encoded.
     *
     * @param int|\DateTimeInterface $expires Unix time; 0 = at the end of the browser's session
     * @param string $sameSite `Lax`, `Strict`, `None` (needs $secure) or '' for no such attribute
     * @throws \ValueError
     */
    public function withCookie(
        string $name,
        string $value,
        int|\DateTimeInterface $expires = 0,
        string $path = '/',
        string $domain = '',
        bool $secure = false,
        bool $httpOnly = true,
        string $sameSite = 'Lax',
    ): self {}

    /** Returns a copy that tells the browser to delete a cookie; path and domain must be those it was set with. */
    public function withoutCookie(string $name, string $path = '/', string $domain = ''): self {}

    /** @param string|iterable<string> $body */
    public function withBody(string|iterable $body): self {}

    public function status(): int {}

    /** @return array<string, list<string>> by name as given */
    public function headers(): array {}

    /** Returns the header's lines joined by a comma, null if it is not set. */
    public function header(string $name): ?string {}

    /** @return string|iterable<string> '' for a file */
    public function body(): string|iterable {}

    /** Returns the path of the file that is sent, null for another body. */
    public function filePath(): ?string {}
}

/**
 * Runs all callables at once and returns their results under the same keys, in the same order.
 *
 * The first failure cancels the others, waits until they have ended, and is thrown.
 *
 * ```php
 * ['user' => $user, 'posts' => $posts] = Hearth\parallel([
 *     'user' => fn () => loadUser($id),
 *     'posts' => fn () => loadPosts($id),
 * ]);
 * ```
 *
 * @template T
 * @param array<array-key, callable(): T> $callables
 * @param int|null $limit number of callables that may run at once, null = all
 * @return array<array-key, T>
 * @throws \Throwable the first failure
 */
function parallel(array $callables, ?int $limit = null): array {}

/**
 * Runs all callables at once and returns the result of the first that ends, or throws its exception.
 * The others are cancelled.
 *
 * ```php
 * $answer = Hearth\race([fn () => ask($mirror1), fn () => ask($mirror2)]);
 * ```
 *
 * @template T
 * @param non-empty-array<array-key, callable(): T> $callables
 * @return T
 * @throws \Throwable the exception of the first that ended
 */
function race(array $callables): mixed {}

/**
 * Calls $fn; after $seconds its current wait, or the next one, ends with `CancelledError`, and this throws `TimeoutError`.
 *
 * For a `Hearth\Pool\Pdo` and for bound pools, $fn is part of the calling task: it sees the same connection and transaction.
 *
 * ```php
 * $rate = Hearth\timeout(0.2, fn () => fetchRate()) ;
 * ```
 *
 * @template T
 * @param callable(): T $fn
 * @return T
 * @throws TimeoutError
 */
function timeout(float $seconds, callable $fn): mixed {}

/**
 * Calls $fn in this worker every $seconds seconds, each time in a task of its own, outside any request.
 *
 * A call that takes longer than the interval does not hold up the next.
 *
 * @param float $seconds more than 0
 */
function every(float $seconds, callable $fn): Timer {}

/**
 * Calls $fn in this worker once, after $seconds seconds, in a task of its own, outside any request.
 *
 * @param float $seconds 0 or more
 */
function after(float $seconds, callable $fn): Timer {}

/** A timer of this worker, made by `every()` or `after()`. It runs until stopped, even if no variable keeps this object. */
final class Timer
{

    /** @internal made by `every()` and `after()` */
    public function __construct(private readonly int $id) {}

    /** Stops the timer: no further call is made; a call that is running goes on to its end. */
    public function stop(): void {}

    public function isStopped(): bool {}
}

/**
 * Hands values from task to task, in order.
 *
 * With a capacity of 0 a sender waits until a receiver has taken its value; otherwise it waits only while the buffer is full.
 *
 * ```php
 * $lines = new Hearth\Channel(16);
 * Hearth\async(function () use ($lines): void {
 *     foreach (file('big.txt') as $line) { $lines->send($line); }
 *     $lines->close();
 * });
 * foreach ($lines as $line) { … }
 * ```
 *
 * @template T
 * @implements \IteratorAggregate<int, T>
 */
final class Channel implements \IteratorAggregate, \Countable
{

    /** @param int $capacity number of values that may wait in the channel before `send()` waits */
    public function __construct(private readonly int $capacity = 0) {}

    /**
     * Sends a value.
     *
     * @param T $value
     * @param float|null $timeout seconds, null = for ever
     * @throws ChannelClosed when the channel is closed, or is closed during the wait
     * @throws TimeoutError when there was no room for the value in time; it was not sent then
     */
    public function send(mixed $value, ?float $timeout = null): void {}

    /**
     * Receives the next value.
     *
     * @param float|null $timeout seconds, null = for ever
     * @return T
     * @throws ChannelClosed when the channel is closed and empty
     * @throws TimeoutError when nothing was sent in time
     */
    public function receive(?float $timeout = null): mixed {}

    /** Closes the channel: waiting senders get `ChannelClosed`, receivers the remaining values, then `ChannelClosed`. */
    public function close(): void {}

    public function isClosed(): bool {}

    /** Returns the number of values in the buffer. */
    public function count(): int {}

    /** Yields received values until the channel is closed and empty. */
    public function getIterator(): \Generator {}
}

/**
 * A limit on how many tasks of this worker do something at once; tasks that must wait are served first come first served.
 *
 * ```php
 * $limit = new Hearth\Semaphore(4);                       // at boot
 * $page = $limit->with(fn () => file_get_contents($url)); // in any request
 * ```
 */
final class Semaphore
{

    /** @param int $permits number of permits that tasks may hold at once */
    public function __construct(private readonly int $permits) {}

    /**
     * Takes a permit; waits, behind the tasks that asked before, while none is free.
     *
     * @param float|null $timeout seconds, null = for ever
     * @throws TimeoutError when no permit became free in time
     * @throws CancelledError
     */
    public function acquire(?float $timeout = null): void {}

    /** Takes a permit if one is free; returns whether it did. */
    public function tryAcquire(): bool {}

    /**
     * Gives a permit back, to the task that has waited longest, if any. Any task may call this.
     *
     * @throws \LogicException when all permits are free already
     */
    public function release(): void {}

    /**
     * Calls $fn with a permit held, and gives it back however $fn ends, also by `exit()`.
     *
     * @template T
     * @param callable(mixed ...): T $fn
     * @return T
     * @throws CancelledError
     */
    public function with(callable $fn, mixed ...$args): mixed {}

    /** Returns the number of free permits. */
    public function available(): int {}

    /** Returns the number of tasks that wait for a permit. */
    public function waiting(): int {}
}

/**
 * A lock that one task of this worker holds at a time, first come first served.
 *
 * It belongs to the task that acquired it, and is released when that task ends. The function of `timeout()` is part of the calling task.
 * Other workers have their own.
 *
 * ```php
 * $mutex->with(function (): void { … });
 * ```
 */
final class Mutex
{

    public function __construct() {}

    /**
     * Acquires the mutex; waits while another task holds it.
     *
     * @param float|null $timeout seconds, null = for ever
     * @throws TimeoutError when the mutex did not become free in time
     * @throws CancelledError
     * @throws \LogicException when this task holds the mutex already: it would wait for itself
     */
    public function acquire(?float $timeout = null): void {}

    /** Acquires the mutex if it is free; returns whether it did. */
    public function tryAcquire(): bool {}

    /** @throws \LogicException when this task does not hold the mutex */
    public function release(): void {}

    /**
     * Calls $fn while holding the mutex.
     *
     * @template T
     * @param callable(mixed ...): T $fn
     * @return T
     * @throws CancelledError
     */
    public function with(callable $fn, mixed ...$args): mixed {}

    public function isLocked(): bool {}
}

/**
 * A value private to the current request and its child tasks; it ends with the request.
 *
 * ```php
 * $user = new Hearth\Local(fn () => loadUser());   // at boot; computed once per request, when first asked for
 * $user->get();
 * ```
 *
 * @template T
 */
final class Local
{
    /**
     * @param (\Closure(): T)|null $initial computes the value of a request that has none yet; without it the value is null
     */
    public function __construct(private readonly ?\Closure $initial = null) {}

    /** Returns this request's value, and computes it first if need be. */
    /** @return T|null */
    public function get(): mixed {}

    /** @param T $value */
    public function set(mixed $value): void {}

    /** Whether this request has set or computed the value. */
    public function has(): bool {}

    /** Forgets the value of this request. */
    public function unset(): void {}
}

/**
 * `Hearth\Cache` as a PSR-16 cache, for any version of the PSR.
 *
 * ```php
 * $cache = new Hearth\Cache\SimpleCache(new Hearth\Cache('shop'));
 * ```
 */
final class SimpleCache implements CacheInterface
{
    /**
     * @param Cache $cache where its entries are; `clear()` clears all of it, so a namespace is better than the whole cache
     */
    public function __construct(private readonly Cache $cache = new Cache('psr-16')) {}

    public function get($key, $default = null): mixed {}

    public function set($key, $value, $ttl = null): bool {}

    public function delete($key): bool {}

    public function clear(): bool {}

    public function getMultiple($keys, $default = null): iterable {}

    public function setMultiple($values, $ttl = null): bool {}

    public function deleteMultiple($keys): bool {}

    public function has($key): bool {}
}

/** An invalid argument of PSR-16: a key or a time. */
final class SimpleCacheMistake extends \InvalidArgumentException implements \Psr\SimpleCache\InvalidArgumentException
{}

/**
 * `Hearth\Cache` as a PSR-6 pool, for any version of the PSR.
 *
 * ```php
 * $pool = new Hearth\Cache\Pool(new Hearth\Cache('shop'));
 * ```
 */
class Pool implements CacheItemPoolInterface
{

    /**
     * @param Cache $cache where its entries are; `clear()` clears all of it, so a namespace is better than the whole cache
     */
    public function __construct(protected readonly Cache $cache = new Cache('psr-6')) {}

    public function getItem($key): CacheItemInterface {}

    /**
     * Returns the items, read in one step.
     *
     * @param array<string> $keys
     * @return array<string, Item>
     */
    public function getItems(array $keys = []): iterable {}

    public function hasItem($key): bool {}

    public function clear(): bool {}

    public function deleteItem($key): bool {}

    public function deleteItems(array $keys): bool {}

    public function save(CacheItemInterface $item): bool {}

    public function saveDeferred(CacheItemInterface $item): bool {}

    public function commit(): bool {}

    protected function item(string $key, mixed $value, bool $hit): Item {}

    protected static function key(mixed $key): string {}
}

/** An item of PSR-6: the value that was found, or that is to be saved. */
class Item implements CacheItemInterface
{

    /** @internal */
    public function __construct(private readonly string $key, private mixed $value, private readonly bool $hit) {}

    public function getKey(): string {}

    public function get(): mixed {}

    public function isHit(): bool {}

    public function set($value): static {}

    public function expiresAt($expiration): static {}

    public function expiresAfter($time): static {}
}

/** An invalid argument of PSR-6: a key or a time. */
final class PoolMistake extends \InvalidArgumentException implements \Psr\Cache\InvalidArgumentException
{}

/**
 * `Hearth\Cache` by Symfony's cache contracts, with tags, for any version of the contracts. It is a PSR-6 pool too.
 *
 * ```php
 * $cache = new Hearth\Cache\SymfonyCache(new Hearth\Cache('app'));
 * $value = $cache->get('key', function (ItemInterface $item) { $item->expiresAfter(60)->tag('news'); return compute(); });
 * ```
 */
final class SymfonyCache extends Pool implements TagAwareCacheInterface
{
    public function __construct(Cache $cache = new Cache('symfony')) {}

    /**
     * Returns the value; if there is none, the result of the callback. Across all tasks and workers, one
     * caller computes at a time.
     *
     * @param float|null $beta INF: compute now; 0: not before the value has expired; anything else: one caller computes a new value as long
     *     before the old one expires as the computation took, and others go on with the old one
     * @param array<string, mixed>|null $metadata metadata of a value that was computed here; else empty
     */
    public function get(string $key, callable $callback, ?float $beta = null, ?array &$metadata = null): mixed {}

    public function delete(string $key): bool {}

    /** @param array<string> $tags */
    public function invalidateTags(array $tags): bool {}

    protected function item(string $key, mixed $value, bool $hit): Item {}
}

/** An item of Symfony's cache contracts. */
final class SymfonyItem extends Item implements ItemInterface
{

    /** @param string|iterable<string> $tags */
    public function tag($tags): static {}

    /** @return array<string, mixed> always empty: metadata of a value is not read with it */
    public function getMetadata(): array {}

    /** @return list<string> */
    public function tags(): array {}
}

/**
 * `Hearth\Cache` as a cache store of Laravel, with tags and locks.
 *
 * ```php
 * Cache::extend('hearth', fn ($app, $config) => Cache::repository(new Hearth\Cache\LaravelStore($config['prefix'] ?? '')));
 * ```
 */
final class LaravelStore extends TaggableStore implements LockProvider
{
    /** @param Cache $cache the cache or namespace of its entries; `flush()` clears all of it */
    public function __construct(private readonly string $prefix = '', private readonly Cache $cache = new Cache('laravel')) {}

    public function get($key): mixed {}

    public function many(array $keys): array {}

    public function put($key, $value, $seconds): bool {}

    /** Writes it if there is no value, in one step. */
    public function add($key, $value, $seconds): bool {}

    public function putMany(array $values, $seconds): bool {}

    /** Adds atomically. An existing value keeps its expiry. */
    public function increment($key, $value = 1): int {}

    public function decrement($key, $value = 1): int {}

    public function forever($key, $value): bool {}

    /** Gives an existing value a new expiry. */
    public function touch($key, $seconds): bool {}

    public function forget($key): bool {}

    public function flush(): bool {}

    public function getPrefix(): string {}

    public function lock($name, $seconds = 0, $owner = null): LaravelLock {}

    public function restoreLock($name, $owner): LaravelLock {}
}

/** A lock of Laravel, held across all workers, and not lost when the cache is full. */
final class LaravelLock extends Lock
{

    /** @internal */
    public function __construct(private readonly Cache $cache, string $name, $seconds, ?string $owner) {}

    public function acquire(): bool {}

    /**
     * Waits without the long pauses of other stores: a released lock is taken within 20 ms.
     *
     * @throws LockTimeoutException
     */
    public function block($seconds, $callback = null): mixed {}

    public function release(): bool {}

    public function forceRelease(): void {}

    /** Returns '' if another owner holds the lock, because the cache does not know that owner's name. */
    protected function getCurrentOwner(): ?string {}
}
}

namespace Hearth\Pool {

/** The base class of exceptions of a pool. */
    abstract class PoolException extends \PDOException
{}

/**
 * Thrown when no connection became free, or could be made, in time.
 *
 * The message has the number of connections and why none could be made; the last failure to connect is the previous
 * exception, and its SQLSTATE is the code.
 */
final class BorrowTimeout extends PoolException
{}

/** Thrown when the pool was closed. */
final class PoolClosed extends PoolException
{}

/** Thrown when the current task gives back a connection that it has not borrowed, or not from this pool, or not any more. */
final class NotBorrowed extends \LogicException
{}

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
    ) {}

    /**
     * Calls $fn with a connection, and takes the connection back however $fn ends.
     *
     * @template R
     * @param callable(T): R $fn
     * @param float|null $timeout longest wait for a connection in seconds; null = $borrowTimeout of the pool
     * @return R
     * @throws BorrowTimeout|PoolClosed|\Hearth\CancelledError
     */
    public function with(callable $fn, ?float $timeout = null): mixed {}

    /**
     * Lends a connection: the one that this task has (with `bindToTask`), an idle one, or the first that becomes free.
     *
     * @param float|null $timeout longest wait in seconds; null = $borrowTimeout of the pool
     * @return T
     * @throws BorrowTimeout|PoolClosed|\Hearth\CancelledError
     */
    public function borrow(?float $timeout = null): object {}

    /**
     * Takes a connection back. With `autoReturn` that happens automatically when the task ends.
     *
     * @param T $connection
     * @throws NotBorrowed when the current task has not borrowed it, or not from this pool, or has given it back already
     */
    public function giveBack(object $connection): void {}

    /** Makes sure that a connection that misbehaved is not lent again: it is closed when it comes back. */
    public function evict(object $connection): void {}

    /** Starts to keep the minimum of connections. The server calls this when a worker starts; so does the first borrower. */
    public function start(): void {}

    /** Makes borrowers wait until `resume()`, as if all connections were in use; lent connections come back as usual. */
    public function pause(): void {}

    public function resume(): void {}

    /** Replaces all connections, for instance because the password or the address has changed: idle ones now, others on return. */
    public function recycle(): void {}

    /**
     * Closes the pool: idle connections now, lent ones when they come back. A borrower that waits gets `PoolClosed`.
     *
     * @param float|null $timeout seconds to wait for lent connections; null = for ever, 0 = do not wait
     * @return bool whether all are closed
     */
    public function close(?float $timeout = 0.0): bool {}

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
    public function stats(): array {}

    public function name(): string {}

    /** @return array<string, mixed> without the factory, which knows the password */
    public function __debugInfo(): array {}

    public function __serialize(): array {}
}

/**
 * A statement of `Hearth\Pool\Pdo`: a real `PDOStatement` that refuses to use its connection after
 * that went back to the pool.
 *
 * A statement class of an app (`PDO::ATTR_STATEMENT_CLASS`) must extend this class; a connection with statements of another
 * class is closed after its lease.
 */
class Statement extends \PDOStatement
{

    /** @return array{queryString: string} the same as for a PDOStatement */
    public function __debugInfo(): array {}

    /** @throws \PDOException */
    public function execute(?array $params = null): bool {}

    public function fetch(int $mode = \PDO::FETCH_DEFAULT, int $cursorOrientation = \PDO::FETCH_ORI_NEXT, int $cursorOffset = 0): mixed {}

    public function fetchAll(int $mode = \PDO::FETCH_DEFAULT, mixed ...$args): array {}

    public function fetchColumn(int $column = 0): mixed {}

    public function fetchObject(?string $class = 'stdClass', array $constructorArgs = []): object|false {}

    public function getColumnMeta(int $column): array|false {}

    public function nextRowset(): bool {}

    public function closeCursor(): bool {}

    public function getIterator(): \Iterator {}
}

/**
 * A `\PDO` whose calls go to the connection of the current task: a drop-in for code that uses one PDO everywhere.
 *
 * ```php
 * $pdo = new Hearth\Pool\Pdo($dsn, $user, $password, size: 64);   // at boot; the other options are those of Pool
 * // in any request, at the same time:
 * $pdo->beginTransaction(); $pdo->exec('…'); $pdo->commit();
 * ```
 *
 * A task gets a connection with its first query and keeps it until the task ends. `setAttribute()` outside a task (at boot)
 * applies to all connections; inside a task to that task's connection, until the task ends. A statement must not be used
 * after its task has ended.
 */
final class Pdo extends \PDO
{

    /**
     * @param string|\Closure(): ?string|null $password a function is called for each new connection: for secrets that change
     * @param array<int, mixed>|null $options PDO's attributes, as for `new PDO`
     * @param mixed ...$pool options of `Pool`, by name, and `queryTimeout`: seconds after which the database ends a statement
     * @throws \ValueError on invalid options of the pool
     */
    public function __construct(
        string $dsn,
        ?string $username = null,
        #[\SensitiveParameter] string|\Closure|null $password = null,
        ?array $options = null,
        mixed ...$pool,
    ) {}

    /** Returns the pool behind it, for its statistics and its operations. */
    public function pool(): Pool {}

    /**
     * Gives the current task's connection back before the task ends: for a task that has much to do without the database.
     *
     * @throws \LogicException while a transaction is open
     */
    public function release(): void {}

    public function prepare(string $query, array $options = []): \PDOStatement|false {}

    public function query(string $query, ?int $fetchMode = null, mixed ...$fetchModeArgs): \PDOStatement|false {}

    public function exec(string $statement): int|false {}

    public function beginTransaction(): bool {}

    public function commit(): bool {}

    /** On a broken connection this throws, as PDO does; then the task knows, and its next statement gets a new one. */
    public function rollBack(): bool {}

    /** Without a connection yet, the task has no transaction either. */
    public function inTransaction(): bool {}

    public function lastInsertId(?string $name = null): string|false {}

    public function quote(string $string, int $type = \PDO::PARAM_STR): string|false {}

    public function errorCode(): ?string {}

    public function errorInfo(): array {}

    public function getAttribute(int $attribute): mixed {}

    /** Outside a task, applies to all connections; inside one to this task's connection, until it goes back. */
    public function setAttribute(int $attribute, mixed $value): bool {}

    /**
     * Calls methods of the driver, such as `pgsqlCopyFromArray()` or `sqliteCreateFunction()`.
     *
     * @param list<mixed> $arguments
     */
    public function __call(string $name, array $arguments): mixed {}

    /** Closes the connections when nothing refers to this object or its statements any more, as PDO does. */
    public function __destruct() {}

    public function __clone() {}

    /** @return array<string, mixed> without the address and the password */
    public function __debugInfo(): array {}

    public function __serialize(): array {}
}

/** A \Redis whose commands go to the connection that the current task has. */
final class Redis extends \Redis
{
    /**
     * @param string|null $host name, address, or path of a socket; null = `connect()` says it later
     * @param float $timeout seconds for connecting, 0 = as php.ini has it
     * @param float $readTimeout seconds for an answer, 0 = as php.ini has it
     * @param mixed $auth password, or [user, password]
     * @param array<int, mixed> $options `Redis::OPT_…` of every connection
     * @param mixed ...$pool options of `Pool`, by name
     * @throws \ValueError on wrong options of the pool
     */
    public function __construct(?string $host = null, int $port = 6379, float $timeout = 0.0, float $readTimeout = 0.0, mixed $auth = null, int $database = 0, array $options = [], mixed ...$pool) {}

    /** The pool behind it, for its statistics and its operations. */
    public function pool(): Pool {}
}
}
