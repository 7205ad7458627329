<?php

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
