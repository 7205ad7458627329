<?php

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
