<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * What a pool must know about one kind of connection.
 *
 * Its methods may wait; the pool sees to it that they do not wait too long.
 *
 * @internal
 */
interface Driver
{
    /** Prepares a connection that was just made, and learns the state to which `reset()` must return. */
    public function adopt(Entry $entry): void;

    /** Whether an idle connection was closed by the other side, as far as that can be seen without asking. */
    public function isClosed(Entry $entry): bool;

    /** Asks the other side whether the connection works; false or an exception: it does not. */
    public function check(Entry $entry): bool;

    /** Whether the session of a loan is in a state that a new connection would not be in: a transaction is open, something was set. */
    public function holdsState(Entry $entry): bool;

    /** Whether `reset()` has anything to do that waits. */
    public function needsReset(Entry $entry): bool;

    /**
     * Makes the connection as it was when new.
     *
     * @return bool whether a transaction was open and has been rolled back
     * @throws \Throwable when that is not possible: the connection must be closed then
     */
    public function reset(Entry $entry): bool;

    /**
     * Closes our side of a connection, even if code holds it: the server rolls back what is open and gives its locks free.
     *
     * @return bool false: it stays open until no code holds it any more
     */
    public function disconnect(object $connection): bool;

    /** Whether the server has closed its side too: not before it is done with what it was asked. */
    public function hasLeft(object $connection): bool;

    /** Tells the server over this connection to stop what it does for the session with that number. */
    public function cancel(object $connection, int $session): void;

    /** Whether the error means that the connection is of no more use. */
    public function isBroken(\Throwable $error): bool;
}
