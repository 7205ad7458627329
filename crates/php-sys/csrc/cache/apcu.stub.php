<?php

namespace {

/**
 * @param array|string $key
 * @implementation-alias hearth_apcu_store
 */
function apcu_store($key, mixed $value = UNKNOWN, int $ttl = 0): array|bool {}

/**
 * @param array|string $key
 * @implementation-alias hearth_apcu_add
 */
function apcu_add($key, mixed $value = UNKNOWN, int $ttl = 0): array|bool {}

/**
 * @param array|string $key
 * @param bool $success
 * @implementation-alias hearth_apcu_fetch
 */
function apcu_fetch($key, &$success = null): mixed {}

/**
 * @param array|string $key
 * @implementation-alias hearth_apcu_exists
 */
function apcu_exists($key): array|bool {}

/**
 * @param array|string $key
 * @implementation-alias hearth_apcu_delete
 */
function apcu_delete($key): array|bool {}

/**
 * @param bool $success
 * @implementation-alias hearth_apcu_inc
 */
function apcu_inc(string $key, int $step = 1, &$success = null, int $ttl = 0): int|false {}

/**
 * @param bool $success
 * @implementation-alias hearth_apcu_dec
 */
function apcu_dec(string $key, int $step = 1, &$success = null, int $ttl = 0): int|false {}

/** @implementation-alias hearth_apcu_cas */
function apcu_cas(string $key, int $old, int $new): bool {}

/** @implementation-alias hearth_apcu_entry */
function apcu_entry(string $key, callable $callback, int $ttl = 0): mixed {}

/** @implementation-alias hearth_apcu_clear_cache */
function apcu_clear_cache(): bool {}

/** @implementation-alias hearth_apcu_cache_info */
function apcu_cache_info(bool $limited = false): array|false {}

/** @implementation-alias hearth_apcu_key_info */
function apcu_key_info(string $key): ?array {}

/** @implementation-alias hearth_apcu_sma_info */
function apcu_sma_info(bool $limited = false): array|false {}

/** @implementation-alias hearth_apcu_enabled */
function apcu_enabled(): bool {}

}

namespace Hearth\Internal {

/** @internal the values of those keys that exist, for APCUIterator: no read is counted */
function apcuPeek(array $keys): array {}

}
