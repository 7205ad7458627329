<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * What a pool must know about one kind of connection.
 *
 * Its methods may wait; the pool limits how long.
 *
 * @internal
 */
interface Driver
{
    /** Prepares a connection that was just made, and learns the state to which `reset()` must return. */
    public function adopt(Entry $entry): void;

    /** Notes the state to which `reset()` must return after the app's code has run on a connection between two leases: `init`. */
    public function remember(Entry $entry): void;

    /** Whether the other side has closed an idle connection, as far as that shows without a query. */
    public function isClosed(Entry $entry): bool;

    /** Queries the other side to see whether the connection works; false or an exception: it does not. */
    public function check(Entry $entry): bool;

    /** Whether the session of a lease has state that a new connection would not have: an open transaction, or settings. */
    public function holdsState(Entry $entry): bool;

    /** Whether `reset()` would have to wait for something. */
    public function needsReset(Entry $entry): bool;

    /**
     * Returns the connection to its state when it was new.
     *
     * @return bool whether a transaction was open and has been rolled back
     * @throws \Throwable when that is not possible: then the connection must be closed
     */
    public function reset(Entry $entry): bool;

    /**
     * Closes the pool's side of a connection, even if code holds it: the server rolls back open transactions
     * and releases their locks.
     *
     * @return bool false: it stays open until no code holds it any more
     */
    public function disconnect(object $connection): bool;

    /** Whether the server has closed its side too, which it does not before it has finished its last query. */
    public function hasLeft(object $connection): bool;

    /** Tells the server over this connection to cancel the query of the session with that number. */
    public function cancel(object $connection, int $session): void;

    /** Whether the error means that the connection is unusable. */
    public function isBroken(\Throwable $error): bool;
}
