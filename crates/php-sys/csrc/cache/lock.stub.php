<?php

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
