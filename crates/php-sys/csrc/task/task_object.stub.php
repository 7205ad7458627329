<?php

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
