<?php

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
