<?php

// The classes and functions that the server itself provides; for editors and static analysers. Not loaded at run time.
// Made from the stubs in crates/php-sys/csrc by `cargo run -p xtask -- gen`.

namespace {

    /**
     * For worker scripts of FrankenPHP: waits for a request and calls $callback in it.
     *
     * The callback finds the request in the superglobals and answers with `echo`, `header()` and `http_response_code()`. What
     * the script does after this call runs after the response was sent.
     *
     * ```php
     * while (frankenphp_handle_request(fn () => print "Hello {$_GET['name']}\n")) { gc_collect_cycles(); }
     * ```
     *
     * @return bool false when the script is to end
     * @throws \RuntimeException where there is no such loop
     */
    function frankenphp_handle_request(callable $callback): bool
    {
    }

    /** Sends the response as it is; the code goes on without its client. False when that was done before. */
    function frankenphp_finish_request(): bool
    {
    }

    /**
     * The same.
     *
     * @implementation-alias frankenphp_finish_request
     */
    function fastcgi_finish_request(): bool
    {
    }

    /**
     * @return array<string, string> the headers of the request, as `getallheaders()` has them
     *
     * @implementation-alias Hearth_getallheaders
     */
    function frankenphp_request_headers(): array
    {
    }

    /**
     * @return array<string, string> the headers set so far, as `apache_response_headers()` has them
     *
     * @implementation-alias Hearth_apache_response_headers
     */
    function frankenphp_response_headers(): array
    {
    }
}

namespace Hearth {

    /**
     * One cache for all workers of the server.
     *
     * ```php
     * $cache = new Hearth\Cache();
     * $rows = $cache->remember('news', 60, fn () => $db->query('SELECT title FROM news')->fetchAll());
     * ```
     *
     * A key is a string of 1 to 1,024 bytes without a NUL byte. Times are seconds; null is for ever, 0 and less is over already.
     * Strings and arrays that were read before and have not changed are given again, without decoding; objects are made anew for each reader.
     */
    final class Cache
    {
        /** @param string|null $namespace whose keys these are; null: the cache as a whole */
        public function __construct(?string $namespace = null) {}

        /** A cache within this one: its keys, tags and locks are apart, and its `clear()` ends what is in it. */
        public function namespace(string $name): Cache {}

        public function get(string $key, mixed $default = null): mixed {}

        public function has(string $key): bool {}

        /**
         * @param list<string> $keys
         * @return array<string, mixed> a value for each key
         */
        public function getMultiple(array $keys, mixed $default = null): array {}

        /**
         * @param float|null $ttl seconds
         * @param list<string> $tags
         * @return bool false if there was no room
         * @throws \ValueError if the value cannot be kept, or takes more than half of the cache
         */
        public function set(string $key, mixed $value, ?float $ttl = null, array $tags = []): bool {}

        /** Writes it if there is no value; true if it was written. */
        public function add(string $key, mixed $value, ?float $ttl = null, array $tags = []): bool {}

        /** @param array<string, mixed> $values */
        public function setMultiple(array $values, ?float $ttl = null, array $tags = []): bool {}

        /** Writes it if the value is the expected one; true if it was. */
        public function compareAndSwap(string $key, mixed $expected, mixed $value, ?float $ttl = null, array $tags = []): bool {}

        /**
         * Adds to a number, which begins at 0; exact over all workers. Time and tags hold for a new one.
         *
         * @throws \TypeError if the value is no int
         * @throws \ArithmeticError if the sum is not an int
         */
        public function increment(string $key, int $by = 1, ?float $ttl = null, array $tags = []): int {}

        public function decrement(string $key, int $by = 1, ?float $ttl = null, array $tags = []): int {}

        /**
         * The value, or what $compute returns, which is kept. Of all tasks and workers one computes at a time, and the others wait.
         *
         * @param float|null $ttl seconds
         * @param callable(): mixed $compute
         * @param float|null $staleFor seconds after the ttl in which the old value is given while one caller computes the new one
         * @param list<string> $tags
         */
        public function remember(string $key, ?float $ttl, callable $compute, ?float $staleFor = null, array $tags = []): mixed {}

        /** True if there was a value. */
        public function delete(string $key): bool {}

        /**
         * @param list<string> $keys
         * @return int how many there were
         */
        public function deleteMultiple(array $keys): int {}

        /** Ends all values that were written with this tag. True if there may have been some. */
        public function deleteTag(string $tag): bool {}

        /**
         * As `deleteTag()`, of several in one step.
         *
         * @param list<string> $tags
         * @return int how many there may have been values of
         */
        public function deleteTags(array $tags): int {}

        /** Ends all values: of the namespace, or of the whole cache. Locks stay. */
        public function clear(): bool {}

        /**
         * A lock over all workers, for $ttl seconds; null if another holder has it after $wait seconds.
         *
         * @param string|null $owner a name for the holder: the lock then outlives the object, and `heldLock()` finds it by that name, in
         *     another process too
         */
        public function lock(string $name, float $ttl, float $wait = 0.0, ?string $owner = null): ?CacheLock {}

        /**
         * A lock that is held now: by the owner of that name, or by any; null if it is not. It outlives the object.
         */
        public function heldLock(string $name, ?string $owner = null): ?CacheLock {}

        /** @return array<string, int> figures of the whole cache */
        public function stats(): array {}
    }
}

namespace Hearth {

    /** A lock that is held, until it is released, its time is over, or this object goes. */
    final class CacheLock
    {
        private function __construct() {}

        /** Higher than that of every holder before. */
        public function token(): int {}

        /** False where the time was over. */
        public function isHeld(): bool {}

        /** For $ttl seconds from now; false if it is not held any more. */
        public function extend(float $ttl): bool {}

        /** False if it was not held any more. */
        public function release(): bool {}
    }
}

namespace Hearth {

    /**
     * The sessions of `session.save_handler = hearth`, for code that calls a save handler by itself.
     *
     * ```php
     * session_set_save_handler(new Hearth\Session('shop'));
     * ```
     *
     * A session that was read is this request's own until it is written, destroyed or closed, or until the request ends; others wait.
     * Where something cannot be done, a method is false and a warning says why.
     */
    final class Session implements \SessionHandlerInterface, \SessionIdInterface, \SessionUpdateTimestampHandlerInterface
    {
        /**
         * @param string $path as `session.save_path`: sessions with another path are others; '': that of `open()`
         * @param int|null $lifetime seconds; null: `session.gc_maxlifetime`
         * @throws \ValueError if the path has more than 700 bytes, or the lifetime is not positive
         */
        public function __construct(string $path = '', ?int $lifetime = null) {}

        public function open(string $path, string $name): bool {}

        /** Gives up what this request has read and not written. */
        public function close(): bool {}

        /** The data, '' for a new session; waits while another request has it, for 30 seconds at most. */
        public function read(string $id): string|false {}

        public function write(string $id, string $data): bool {}

        public function destroy(string $id): bool {}

        /** Removes all that have expired, of every path. */
        public function gc(int $max_lifetime): int|false {}

        public function create_sid(): string {}

        public function validateId(string $id): bool {}

        /** Nothing was changed: for another lifetime. */
        public function updateTimestamp(string $id, string $data): bool {}
    }
}

namespace Hearth {

    /**
     * A request. Nothing of it is parsed before it is asked for.
     *
     * ```php
     * return fn (Hearth\Request $request) => "Hello {$request->query('name', 'world')}\n";
     * ```
     */
    final class Request
    {
        /** `GET`, `POST`, … as the client sent it. */
        public readonly string $method;

        /** What the request line asks for: path and query string, undecoded. */
        public readonly string $target;

        /** The path of the target, undecoded, without the query string. */
        public readonly string $path;

        /** What follows the `?`, undecoded; '' if nothing does. */
        public readonly string $queryString;

        /** `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`. */
        public readonly string $protocol;

        private function __construct()
        {
        }

        /**
         * A parameter of the query string, parsed as for `$_GET`.
         *
         * @param string|null $name null = all, as an array
         * @param mixed $default for a parameter that is not there
         * @return ($name is null ? array<array-key, string|array> : mixed)
         */
        public function query(?string $name = null, mixed $default = null): mixed
        {
        }

        /** A header, in any case; several lines joined by a comma; null if it is not there. */
        public function header(string $name): ?string
        {
        }

        /** @return array<string, list<string>> all headers by name */
        public function headers(): array
        {
        }

        /**
         * A cookie, decoded.
         *
         * @param string|null $name null = all, as an array
         * @return ($name is null ? array<string, string> : mixed)
         */
        public function cookie(?string $name = null, mixed $default = null): mixed
        {
        }

        /** The whole body; waits until it has arrived. */
        public function body(): string
        {
        }

        /**
         * The body as a stream to read from; reading waits for what has not arrived yet.
         *
         * @return resource
         */
        public function stream()
        {
        }

        /**
         * The body decoded as JSON; objects become arrays.
         *
         * @param int $flags `JSON_…` constants
         * @throws \JsonException
         */
        public function json(int $flags = 0): mixed
        {
        }

        /**
         * A field of the form in the body (urlencoded or multipart), as in `$_POST`.
         *
         * @param string|null $name null = all, as an array
         * @return ($name is null ? array<array-key, string|array> : mixed)
         */
        public function form(?string $name = null, mixed $default = null): mixed
        {
        }

        /** @return array<string, array<string, mixed>> the uploaded files, as in `$_FILES` */
        public function files(): array
        {
        }

        /** The client's address; that of the client behind them if it came through trusted proxies. */
        public function client(): string
        {
        }

        /** Whether the client uses HTTPS, also through trusted proxies. */
        public function isSecure(): bool
        {
        }

        /** What middleware attached to the request. */
        public function attribute(string $name, mixed $default = null): mixed
        {
        }

        /** A copy with an attribute. */
        public function withAttribute(string $name, mixed $value): static
        {
        }
    }
}

namespace Hearth {

    /** A function that runs beside its caller; made by `async()` and `background()`. */
    final class Task
    {
        private function __construct()
        {
        }

        /**
         * Waits until the task has ended, and returns what its function returned; null if that called `exit()`.
         *
         * @param float|null $timeout seconds, null = for ever. The task goes on when the time is up; use `cancel()` to end it
         * @throws TimeoutError when it did not end in time
         * @throws CancelledError when the waiting task is cancelled
         * @throws \Error when a fatal error ended the task
         * @throws \Throwable what the function threw
         */
        public function await(?float $timeout = null): mixed
        {
        }

        /** Ends its current wait, or its next one, with `CancelledError`. Does nothing to a task that has ended. */
        public function cancel(): void
        {
        }

        /** Whether it has ended, however: with a result, an exception, `exit()` or a fatal error. */
        public function isDone(): bool
        {
        }
    }
}

namespace Hearth {

    /**
     * Starts $fn as a child of the current request. It runs at once, until its first wait, then beside its caller.
     *
     * The request ends when its children have ended.
     *
     * ```php
     * $page = Hearth\async(fn () => file_get_contents($url));
     * $rows = $pdo->query('…')->fetchAll();       // meanwhile
     * return render($rows, $page->await());
     * ```
     *
     * @throws \Error outside a task, and where there is no memory for the stack of another task
     */
    function async(callable $fn, mixed ...$args): Task
    {
    }

    /**
     * Like `async()`, but not a child: it goes on when the request has ended, and has no request itself.
     *
     * A worker that leaves finishes it, for `stop.timeout` or `reload.timeout` at most, and then cancels it; not what timers have begun.
     *
     * @throws \Error as `async()`
     */
    function background(callable $fn, mixed ...$args): Task
    {
    }

    /**
     * Runs $fn after the response has been sent, before the task ends; several run in the order in which they were given.
     *
     * ```php
     * Hearth\defer(fn () => $mailer->send($confirmation));
     * ```
     *
     * @throws \Hearth\TimeoutError where the response has been sent and the request was told that its time is over
     * @throws \Error outside a task
     */
    function defer(callable $fn): void
    {
    }

    /** The id of the current request, as in the access log; '' outside a request. */
    function requestId(): string
    {
    }

namespace Hearth\Internal {

    /** @internal `getmypid()` without a system call */
    function processId(): int
    {
    }

    /** @internal the current task, 0 outside one */
    function taskId(): int
    {
    }

    /** @internal the current task is part of another from here on, which waits for it: what that has borrowed, it uses */
    function setEffectiveTask(int $taskId): void
    {
    }

    /** @internal the task of which that one is part; it itself, if of none */
    function effectiveTask(int $taskId): int
    {
    }

    /**
     * Suspends the current task until it is unparked.
     *
     * @internal
     * @param float|null $timeout seconds, less than 0 as 0, null = for ever
     * @return bool false when the time was up
     * @throws \Hearth\CancelledError
     * @throws \Error outside a task
     */
    function park(?float $timeout = null): bool
    {
    }

    /** @internal makes a parked task runnable; false if it is not parked. Each call ends exactly one `park()` */
    function unpark(int $taskId): bool
    {
    }

    /** @internal calls once, in a fresh task without request; returns the timer's id */
    function after(float $seconds, callable $callback): int
    {
    }

    /** @internal calls again and again, each time in a fresh task without request; returns the timer's id */
    function every(float $seconds, callable $callback): int
    {
    }

    /** @internal */
    function stopTimer(int $timer): void
    {
    }

    /** @internal one map per request, shared with its children, freed with it */
    function locals(): \WeakMap
    {
    }

    /**
     * Calls when that task ends, for whatever reason, before its result is delivered.
     *
     * @internal
     * @param callable(int, bool): mixed $callback gets the task's id, and whether a wait on a descriptor was ended early in it: then
     *     the answer to a question may still come there
     * @throws \ValueError when there is no such task, or it has ended
     */
    function onTaskEnd(int $taskId, callable $callback): void
    {
    }

    /** @internal the id of the request, as `requestId()` spells it, of a task that has not ended; '' if there is none */
    function requestOf(int $taskId): string
    {
    }

    /** @internal seconds of a clock that is never set */
    function monotonic(): float
    {
    }

    /**
     * @internal sends COM_RESET_CONNECTION and statements without rows, in one round trip
     * @param list<string> $statements
     * @return bool false: it failed, or it is no connection to MySQL
     */
    function mysqlReset(object $connection, array $statements = []): bool
    {
    }

    /** @internal the number by which MySQL can be told to kill this connection; 0: it is none of PDO or mysqli */
    function mysqlThread(object $connection): int
    {
    }

    /** @internal whether a wait for an answer on it was ended early, in that task if only a task's waits are known of it */
    function isInterrupted(object $connection, int $task): bool
    {
    }

    /** @internal whether a task waits on the connection: a call on it, or on what was made of it, has not returned */
    function isInUse(object $connection): bool
    {
    }

    /** @internal what the client's side of a connection of PDO, mysqli or pgsql keeps and no reset of its session restores, to be compared */
    function clientState(object $connection): string
    {
    }

    /** @internal ends what statements of an SQLite connection of PDO still read; false if something reads on */
    function closeCursors(object $connection): bool
    {
    }

    /** @internal whether something has come on a connection to MySQL or PostgreSQL that should be idle */
    function hasInput(object $connection): bool
    {
    }

    /**
     * @internal calls $code and notes the texts with a dot that it gives to extensions that may wait, such as SQL
     * @return array{mixed, list<string>} what it returned, and the texts
     */
    function withTexts(callable $code): array
    {
    }

    /** @internal whether a connection of PDO, mysqli or pgsql has an answer that was not read to its end */
    function hasUnreadResult(object $connection): bool
    {
    }

    /**
     * @internal closes our side of a connection to MySQL or PostgreSQL: the server sees it, whatever still holds the object
     * @return bool false: such a connection cannot be closed so
     */
    function disconnect(object $connection): bool
    {
    }

    /** @internal whether the server has closed a connection after `disconnect()`: not before it is done with what it was asked */
    function hasLeft(object $connection): bool
    {
    }

    /** @internal opens a counter in memory that all workers share; returns its handle */
    function budget(string $name, int $total): int
    {
    }

    /** @internal takes $n if that many are left */
    function budgetAcquire(int $handle, int $n = 1): bool
    {
    }

    /** @internal how many are taken, by all workers */
    function budgetUsed(int $handle): int
    {
    }

    /** @internal what a function that the server called has to say to it */
    function report(string $text): void
    {
    }

    /** @internal gives $n back; the server does so for a worker that dies */
    function budgetRelease(int $handle, int $n = 1): void
    {
    }
}

namespace Hearth\Internal {

    /** @internal Tasks that wait, first come first served. One that is cancelled, or whose time is up, leaves the queue. */
    final class WaitQueue
    {
        /**
         * The current task waits until it is served.
         *
         * @param float|null $timeout seconds, null = for ever
         * @param \Closure(mixed): void $passOn gets what the task was served when it cannot make use of it, because it was cancelled
         *     at the same moment
         * @param mixed $offer what it has to give
         * @param float|null $since when it began to wait, on the clock of `monotonic()`; null = now
         * @return mixed what it was served, null when the time was up first
         * @throws \Hearth\CancelledError
         * @throws \Error outside a task
         */
        public function wait(?float $timeout, \Closure $passOn, mixed $offer = null, ?float $since = null): mixed
        {
        }

        /**
         * Serves the first that waits, and makes its task runnable.
         *
         * @param mixed $value anything but null
         * @param mixed $offer set to what that task has to give
         * @return int that task, 0 if no task waits
         */
        public function serve(mixed $value, mixed &$offer = null): int
        {
        }

        /** How many wait. */
        public function count(): int
        {
        }

        /** Since when the first has waited, null if no task waits. */
        public function oldest(): ?float
        {
        }
    }
}

namespace Hearth\Internal {

    /** @internal How long something took, counted by ranges. */
    final class Histogram
    {
        public function record(float $seconds): void
        {
        }

        /** How often `record()` was called. */
        public function count(): int
        {
        }

        /** @return array{count: int, sum: float, max: float, buckets: array<string, int>} buckets: how many took at most so long */
        public function toArray(): array
        {
        }

        /** @return array{bounds: list<float>, counts: list<int>, sum: float, max: float} counts: how many fell into each range */
        public function report(): array
        {
        }
    }
}

namespace Hearth\Internal {

    /**
     * @internal Which task has which connection of a pool.
     *
     * A task's leases come back when it ends. Code that runs for another task, in `timeout()`, has what that one has.
     */
    final class LeaseTable
    {
        /**
         * @param string $name of the pool
         * @param WaitQueue $waiters the tasks that get what comes back in order
         * @param \Closure(\Hearth\Pool\Entry, bool): void $returned gets what came back when its task ended and was not handed
         *     on, and whether it is in order
         * @param bool $binds whether `current()` tells
         * @param bool $autoReturn whether leases come back when their task ends
         */
        public function __construct(string $name, WaitQueue $waiters, Histogram $borrowTime, Histogram $useTime, \Closure $returned, bool $binds, bool $autoReturn)
        {
        }

        /** What the current task has in this process. */
        public function current(): ?\Hearth\Pool\Entry
        {
        }

        /** The entry of a connection that the current task has; null: it does not have it. */
        public function find(object $connection): ?\Hearth\Pool\Entry
        {
        }

        /** What a task has; 0 = what was lent where no task runs. */
        public function of(int $task): ?\Hearth\Pool\Entry
        {
        }

        /**
         * The current task has it from here on.
         *
         * @param float $since when that task asked for a connection, on the clock of `monotonic()`
         * @param float|null $now the time on that clock, null = to be looked up
         */
        public function lend(\Hearth\Pool\Entry $entry, float $since, ?float $now = null): void
        {
        }

        /**
         * Its lease is over. Tells whether it is in order: nothing to reset, no reason to close it; null: it was, and a task that waited
         * has it.
         */
        public function takeBack(\Hearth\Pool\Entry $entry): ?bool
        {
        }

        /** It is of the pool no more: calls on its connection are not refused any longer. */
        public function forget(\Hearth\Pool\Entry $entry): void
        {
        }

        /** Forgets what was lent in the process that this one was forked from. */
        public function begin(): void
        {
        }

        /** Whether what comes back is handed on to a waiting task. */
        public function handOn(bool $handsOn): void
        {
        }

        /** Whether leases may leave something to reset, and whether an entry and its PDO show all of that. */
        public function know(bool $resets, bool $shows): void
        {
        }
    }
}
