<?php

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
