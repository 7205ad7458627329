<?php

// Made by generate.php from php/src. The classes and functions of Hearth that are written in PHP; for editors, not loaded at run time.

namespace Hearth {

/**
 * A wait took longer than it was allowed to.
 *
 * It is an `\Error`, so that a `catch (\Exception)` somewhere in a library does not swallow the request's time limit.
 */
class TimeoutError extends \Error
{}

/**
 * The task was cancelled while it waited: by `Task::cancel()`, by a sibling's failure in `parallel()`, or because the client hung up.
 *
 * Let it pass: it unwinds the task. It is an `\Error` for the same reason as `TimeoutError`.
 */
class CancelledError extends \Error
{}

/** A value was sent into a channel that is closed, or asked of one that is closed and empty. */
final class ChannelClosed extends \RuntimeException
{}

/**
 * What a handler answers. Immutable: each `with…()` returns a changed copy.
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
     * @param string|iterable<string> $body an iterable is streamed, each piece sent at once
     * @param int $status 200 to 599
     * @param array<string, string|int|float|list<string|int|float>> $headers
     * @throws \ValueError on a status out of range, or a header that is no header
     */
    public function __construct(string|iterable $body = '', int $status = 200, array $headers = []) {}

    /**
     * Any data as JSON, slashes and non-ASCII characters as they are.
     *
     * @param int $flags `JSON_…` constants, in addition
     * @param array<string, string|list<string>> $headers
     * @throws \JsonException when $data cannot be encoded
     */
    public static function json(mixed $data, int $status = 200, array $headers = [], int $flags = 0): self {}

    /**
     * Sends the client elsewhere.
     *
     * @param int $status 301, 302, 303, 307 or 308
     * @throws \ValueError
     */
    public static function redirect(string $location, int $status = 302): self {}

    /**
     * A file, sent by the server itself, with ranges, `ETag` and `Last-Modified`.
     *
     * @param string $path of the file, as the worker sees it
     * @param string|null $downloadAs makes the browser save it under this name
     * @param array<string, string|list<string>> $headers the `Content-Type` follows from the name's ending unless given
     * @throws \ValueError
     */
    public static function file(string $path, ?string $downloadAs = null, array $headers = []): self {}

    /**
     * A body that is made while it is sent: each piece goes out at once; a slow client suspends the task.
     *
     * @param iterable<string> $pieces
     * @param array<string, string|list<string>> $headers
     */
    public static function stream(iterable $pieces, int $status = 200, array $headers = []): self {}

    /**
     * Server-sent events, for the browser's `EventSource`.
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
     * With this header only, whatever it was before; names are the same in upper and lower case.
     *
     * @param string|int|float|list<string|int|float> $value a list makes several lines
     * @throws \ValueError when the name or a value contains what a header must not, such as line breaks
     */
    public function withHeader(string $name, string|int|float|array $value): self {}

    /**
     * With one more line of this header.
     *
     * @param string|int|float|list<string|int|float> $value
     * @throws \ValueError
     */
    public function withAddedHeader(string $name, string|int|float|array $value): self {}

    public function withoutHeader(string $name): self {}

    /**
     * With a cookie, as `setcookie()` makes it; the value is percent-encoded.
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

    /** Tells the browser to forget a cookie; path and domain must be those it was set with. */
    public function withoutCookie(string $name, string $path = '/', string $domain = ''): self {}

    /** @param string|iterable<string> $body */
    public function withBody(string|iterable $body): self {}

    public function status(): int {}

    /** @return array<string, list<string>> by name as given */
    public function headers(): array {}

    /** The header's lines joined by a comma, null if it is not set. */
    public function header(string $name): ?string {}

    /** @return string|iterable<string> '' for a file */
    public function body(): string|iterable {}

    /** The path of the file that is sent, null if the body is given. */
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
 * @param int|null $limit how many may run at once, null = all
 * @return array<array-key, T>
 * @throws \Throwable the first failure
 */
function parallel(array $callables, ?int $limit = null): array {}

/**
 * Runs all callables at once; the first that ends, with a result or an exception, decides. The others are cancelled.
 *
 * ```php
 * $answer = Hearth\race([fn () => ask($mirror1), fn () => ask($mirror2)]);
 * ```
 *
 * @template T
 * @param non-empty-array<array-key, callable(): T> $callables
 * @return T
 * @throws \Throwable what the first threw
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

    /** No further call is made; one that runs already ends by itself. */
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

    /** @param int $capacity how many values may wait in the channel before `send()` does */
    public function __construct(private readonly int $capacity = 0) {}

    /**
     * @param T $value
     * @param float|null $timeout seconds, null = for ever
     * @throws ChannelClosed when it is closed, or is closed during the wait
     * @throws TimeoutError when there was no room for the value in time; it was not sent then
     */
    public function send(mixed $value, ?float $timeout = null): void {}

    /**
     * @param float|null $timeout seconds, null = for ever
     * @return T
     * @throws ChannelClosed when it is closed and empty
     * @throws TimeoutError when nothing was sent in time
     */
    public function receive(?float $timeout = null): mixed {}

    /** Nothing more is sent: waiting senders get `ChannelClosed`, receivers what is left, then `ChannelClosed`. */
    public function close(): void {}

    public function isClosed(): bool {}

    /** How many values are in the buffer. */
    public function count(): int {}

    /** Receives until the channel is closed and empty. */
    public function getIterator(): \Generator {}
}

/**
 * At most $permits tasks of this worker at once; tasks that must wait are served first come first served.
 *
 * ```php
 * $limit = new Hearth\Semaphore(4);                       // at boot
 * $page = $limit->with(fn () => file_get_contents($url)); // in any request
 * ```
 */
final class Semaphore
{

    /** @param int $permits how many may hold one at once */
    public function __construct(private readonly int $permits) {}

    /**
     * Takes a permit, after the tasks that asked before.
     *
     * @param float|null $timeout seconds, null = for ever
     * @throws TimeoutError when none came free in time
     * @throws CancelledError
     */
    public function acquire(?float $timeout = null): void {}

    /** Takes a permit if one is free. */
    public function tryAcquire(): bool {}

    /**
     * Gives a permit back: to the first that waits, if any. Any task may do so.
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

    /** How many permits are free. */
    public function available(): int {}

    /** How many tasks wait for a permit. */
    public function waiting(): int {}
}

/**
 * One task of this worker at a time, first come first served.
 *
 * It belongs to the task that acquired it, and comes free when that task ends. Other workers have their own.
 *
 * ```php
 * $mutex->with(function (): void { … });
 * ```
 */
final class Mutex
{

    public function __construct() {}

    /**
     * @param float|null $timeout seconds, null = for ever
     * @throws TimeoutError when it did not come free in time
     * @throws CancelledError
     * @throws \LogicException when this task holds it already: it would wait for itself
     */
    public function acquire(?float $timeout = null): void {}

    /** Takes it if it is free. */
    public function tryAcquire(): bool {}

    /** @throws \LogicException when this task does not hold it */
    public function release(): void {}

    /**
     * Calls $fn while holding it.
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
 * A value private to the current request and its children; gone when the request ends.
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
    /** @param (\Closure(): T)|null $initial computes the value of a request that has none yet; without it that value is null */
    public function __construct(private readonly ?\Closure $initial = null) {}

    /** @return T|null */
    public function get(): mixed {}

    /** @param T $value */
    public function set(mixed $value): void {}

    /** Whether this request has set or computed it. */
    public function has(): bool {}

    /** Forgets the value of this request. */
    public function unset(): void {}
}

/**
 * `Hearth\Cache` as PSR-16 has a cache, of any version of the PSR.
 *
 * ```php
 * $cache = new Hearth\Cache\SimpleCache(new Hearth\Cache('shop'));
 * ```
 */
final class SimpleCache implements CacheInterface
{
    /** @param Cache $cache where its entries are; `clear()` ends all of it, so a namespace is better than the whole */
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

/** A key or a time that PSR-16 does not allow. */
final class SimpleCacheMistake extends \InvalidArgumentException implements \Psr\SimpleCache\InvalidArgumentException
{}

/**
 * `Hearth\Cache` as PSR-6 has a pool, of any version of the PSR.
 *
 * ```php
 * $pool = new Hearth\Cache\Pool(new Hearth\Cache('shop'));
 * ```
 */
class Pool implements CacheItemPoolInterface
{

    /** @param Cache $cache where its entries are; `clear()` ends all of it, so a namespace is better than the whole */
    public function __construct(protected readonly Cache $cache = new Cache('psr-6')) {}

    public function __destruct() {}

    public function getItem($key): CacheItemInterface {}

    /**
     * All of them in one step.
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

/** An entry as PSR-6 has it: what was found, and what is to be saved. */
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

/** A key or a time that PSR-6 does not allow. */
final class PoolMistake extends \InvalidArgumentException implements \Psr\Cache\InvalidArgumentException
{}

/**
 * `Hearth\Cache` as Symfony's cache contracts have one, with tags, of any version of them. It is a PSR-6 pool too.
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
     * The value; where there is none, what the callback returns. Of all tasks and workers one computes at a time.
     *
     * @param float|null $beta INF: compute now; 0: not before the value has expired; anything else: one caller computes a new value as long
     *     before the old one expires as the computation took, and others go on with the old one
     * @param array<string, mixed>|null $metadata of a value that was computed here; else empty
     */
    public function get(string $key, callable $callback, ?float $beta = null, ?array &$metadata = null): mixed {}

    public function delete(string $key): bool {}

    /** @param array<string> $tags */
    public function invalidateTags(array $tags): bool {}

    protected function item(string $key, mixed $value, bool $hit): Item {}
}

/** An entry as Symfony has it. */
final class SymfonyItem extends Item implements ItemInterface
{

    /** @param string|iterable<string> $tags */
    public function tag($tags): static {}

    /** @return array<string, mixed> what is kept beside a value is not read with it */
    public function getMetadata(): array {}

    /** @return list<string> */
    public function tags(): array {}
}

/**
 * `Hearth\Cache` as a store of Laravel, with tags and locks.
 *
 * ```php
 * Cache::extend('hearth', fn ($app, $config) => Cache::repository(new Hearth\Cache\LaravelStore($config['prefix'] ?? '')));
 * ```
 */
final class LaravelStore extends TaggableStore implements LockProvider
{
    /** @param Cache $cache where its entries are; `flush()` ends all of it */
    public function __construct(private readonly string $prefix = '', private readonly Cache $cache = new Cache('laravel')) {}

    public function get($key): mixed {}

    public function many(array $keys): array {}

    public function put($key, $value, $seconds): bool {}

    /** Writes it if there is no value, in one step. */
    public function add($key, $value, $seconds): bool {}

    public function putMany(array $values, $seconds): bool {}

    /** Atomic. The time of a value that is there stays. */
    public function increment($key, $value = 1): int {}

    public function decrement($key, $value = 1): int {}

    public function forever($key, $value): bool {}

    /** Another time for a value that is there. */
    public function touch($key, $seconds): bool {}

    public function forget($key): bool {}

    public function flush(): bool {}

    public function getPrefix(): string {}

    public function lock($name, $seconds = 0, $owner = null): LaravelLock {}

    public function restoreLock($name, $owner): LaravelLock {}
}

/** A lock of Laravel: over all workers, and not lost when the cache is full. */
final class LaravelLock extends Lock
{

    /** @internal */
    public function __construct(private readonly Cache $cache, string $name, $seconds, ?string $owner) {}

    public function acquire(): bool {}

    /**
     * Waits without the pauses of other stores: a lock that is given back is taken within 20 ms.
     *
     * @throws LockTimeoutException
     */
    public function block($seconds, $callback = null): mixed {}

    public function release(): bool {}

    public function forceRelease(): void {}

    /** Of another owner the name is not known. */
    protected function getCurrentOwner(): ?string {}
}
}

namespace Hearth\Pool {

/** What goes wrong between a borrower and a pool. */
    abstract class PoolException extends \PDOException
{}

/**
 * No connection came free, or could be made, in time.
 *
 * The message says how many there are and why none could be made; the last failure to connect is the previous exception, and its
 * SQLSTATE is the code.
 */
final class BorrowTimeout extends PoolException
{}

/** The pool was closed. */
final class PoolClosed extends PoolException
{}

/** A connection was given back that the current task has not borrowed: a second time, by another task, or to another pool. */
final class NotBorrowed extends \LogicException
{}

/**
 * Connections that tasks borrow and give back. Each worker has its own; `total` bounds those of all workers together.
 *
 * ```php
 * $pool = new Hearth\Pool\Pool(factory: fn (): PDO => new PDO($dsn, $user, $password), size: 64, minimumIdle: 32);
 * $rows = $pool->with(fn (PDO $db) => $db->query('…')->fetchAll());
 * ```
 *
 * A borrower that must wait takes the first connection that becomes free, new or returned; borrowers are served first come
 * first served. A connection is given back as it was when new: open transactions are rolled back (and reported), the session is reset.
 *
 * @template T of object
 */
final class Pool
{

    /**
     * @param callable(): T $factory makes a connection; whatever it throws is reported and tried again, later and later
     * @param int|null $size most connections at once in this worker; null = 4 × cores
     * @param int|null $minimumIdle connections kept open; 0 = only on demand, = $size: always full; null = 2 × cores
     * @param float $idleTimeout an idle one above the minimum is closed after this many seconds
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
     * @param int|null $maxWaiters this many may wait, others fail at once; null = any number
     * @param int $maxConnecting connections being made at once
     * @param float $connectTimeout seconds after which an attempt to connect is given up
     * @param 'lifo'|'fifo' $order which idle connection is lent: the one used last, so that the others can be closed, or first
     * @param string|null $name for logs, metrics and $total; pools with the same name share the budget
     * @param float $validationTimeout seconds after which a connection that was asked whether it works counts as broken
     * @throws \ValueError that names all options that make no sense
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
     * Calls $fn with a connection, and takes it back however $fn ends.
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
     * Takes a connection back. With `autoReturn` that happens by itself when the task ends.
     *
     * @param T $connection
     * @throws NotBorrowed when the current task does not have it: given back twice, borrowed by another task, or of another pool
     */
    public function giveBack(object $connection): void {}

    /** The connection must not be lent again, because it misbehaved: it is closed when it comes back. */
    public function evict(object $connection): void {}

    /** Begins to keep the minimum of connections. The server does so when a worker starts; so does the first borrower. */
    public function start(): void {}

    /** Borrowers wait until `resume()`, as if all connections were in use; what is lent comes back as ever. */
    public function pause(): void {}

    public function resume(): void {}

    /** Replaces all connections, for instance because the password or the address has changed: idle ones now, others on return. */
    public function recycle(): void {}

    /**
     * Closes the pool: idle connections now, those out when they come back. A borrower that waits gets `PoolClosed`.
     *
     * @param float|null $timeout seconds to wait for those out; null = for ever, 0 = do not wait
     * @return bool whether all are closed
     */
    public function close(?float $timeout = 0.0): bool {}

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
    public function stats(): array {}

    public function name(): string {}

    /** @return array<string, mixed> without the factory, which knows the password */
    public function __debugInfo(): array {}

    public function __serialize(): array {}
}

/**
 * A statement of `Hearth\Pool\Pdo`: a real `PDOStatement` that refuses to touch its connection when that went back to the pool.
 *
 * A statement class of an app (`PDO::ATTR_STATEMENT_CLASS`) extends this one; a connection with statements of any other is closed after its loan.
 */
class Statement extends \PDOStatement
{

    /** @return array{queryString: string} as that of a PDOStatement */
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
 * A `\PDO` whose calls go to the connection that the current task has: a drop-in for code that keeps one PDO for all.
 *
 * ```php
 * $pdo = new Hearth\Pool\Pdo($dsn, $user, $password, size: 64);   // at boot; the other options are those of Pool
 * // in any request, at the same time:
 * $pdo->beginTransaction(); $pdo->exec('…'); $pdo->commit();
 * ```
 *
 * A task gets a connection with its first query and keeps it until it ends. `setAttribute()` outside a task (at boot) holds for all
 * connections; inside a task for that task's, until it ends. A statement must not be used after its task has ended.
 */
final class Pdo extends \PDO
{

    /**
     * @param string|\Closure(): ?string|null $password a function is asked before each connection is made: for secrets that change
     * @param array<int, mixed>|null $options PDO's attributes, as for `new PDO`
     * @param mixed ...$pool options of `Pool`, by name, and `queryTimeout`: seconds after which the database ends a statement
     * @throws \ValueError on wrong options of the pool
     */
    public function __construct(
        string $dsn,
        ?string $username = null,
        #[\SensitiveParameter] string|\Closure|null $password = null,
        ?array $options = null,
        mixed ...$pool,
    ) {}

    /** The pool behind it, for its statistics and its operations. */
    public function pool(): Pool {}

    /**
     * Gives the current task's connection back before the task ends: for one that has much to do yet, without the database.
     *
     * @throws \LogicException while a transaction is open
     */
    public function release(): void {}

    public function prepare(string $query, array $options = []): \PDOStatement|false {}

    public function query(string $query, ?int $fetchMode = null, mixed ...$fetchModeArgs): \PDOStatement|false {}

    public function exec(string $statement): int|false {}

    public function beginTransaction(): bool {}

    public function commit(): bool {}

    /** Where the connection broke, this throws as PDO does; but then the task knows, and its next statement gets another connection. */
    public function rollBack(): bool {}

    /** A task that has no connection yet has no transaction either. */
    public function inTransaction(): bool {}

    public function lastInsertId(?string $name = null): string|false {}

    public function quote(string $string, int $type = \PDO::PARAM_STR): string|false {}

    public function errorCode(): ?string {}

    public function errorInfo(): array {}

    public function getAttribute(int $attribute): mixed {}

    /** Outside a task: for all connections. Inside one: for this task's connection, until it goes back. */
    public function setAttribute(int $attribute, mixed $value): bool {}

    /**
     * Methods of the driver, such as `pgsqlCopyFromArray()` or `sqliteCreateFunction()`.
     *
     * @param list<mixed> $arguments
     */
    public function __call(string $name, array $arguments): mixed {}

    /** When nothing refers to this object or its statements any more, its connections are closed, as PDO does. */
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
