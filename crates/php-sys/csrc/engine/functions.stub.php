<?php

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

    /** @internal documented in library.stub.php */
    function parallel(array $callables, ?int $limit = null): array
    {
    }

    /** @internal documented in library.stub.php */
    function race(array $callables): mixed
    {
    }

    /** @internal documented in library.stub.php */
    function timeout(float $seconds, callable $fn): mixed
    {
    }

    /** @internal documented in library.stub.php */
    function every(float $seconds, callable $fn): Timer
    {
    }

    /** @internal documented in library.stub.php */
    function after(float $seconds, callable $fn): Timer
    {
    }
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
