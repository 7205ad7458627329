<?php

declare(strict_types=1);

namespace Hearth\Cache;

use Hearth\Cache;
use Psr\SimpleCache\CacheInterface;

/**
 * `Hearth\Cache` as a PSR-16 cache, for any version of the PSR.
 *
 * ```php
 * $cache = new Hearth\Cache\SimpleCache(new Hearth\Cache('shop'));
 * ```
 */
final class SimpleCache implements CacheInterface
{
    /**
     * @param Cache $cache where its entries are; `clear()` clears all of it, so a namespace is better than the whole cache
     */
    public function __construct(private readonly Cache $cache = new Cache('psr-16'))
    {
    }

    public function get($key, $default = null): mixed
    {
        return $this->cache->get(self::key($key), $default);
    }

    public function set($key, $value, $ttl = null): bool
    {
        return $this->write([self::key($key) => $value], $ttl);
    }

    public function delete($key): bool
    {
        $this->cache->delete(self::key($key));
        return true;
    }

    public function clear(): bool
    {
        return $this->cache->clear();
    }

    public function getMultiple($keys, $default = null): iterable
    {
        return $this->cache->getMultiple(self::keys($keys), $default);
    }

    public function setMultiple($values, $ttl = null): bool
    {
        if (!\is_iterable($values)) {
            throw new SimpleCacheMistake('Values must be iterable, ' . \get_debug_type($values) . ' given');
        }
        $all = [];
        foreach ($values as $key => $value) {
            $all[self::key(\is_int($key) ? (string) $key : $key)] = $value;
        }
        return $this->write($all, $ttl);
    }

    public function deleteMultiple($keys): bool
    {
        $this->cache->deleteMultiple(self::keys($keys));
        return true;
    }

    public function has($key): bool
    {
        return $this->cache->has(self::key($key));
    }

    /** @param array<string, mixed> $values */
    private function write(array $values, mixed $ttl): bool
    {
        $seconds = Arguments::seconds($ttl, SimpleCacheMistake::class);
        return Arguments::isKept(fn (): bool => $this->cache->setMultiple($values, $seconds));
    }

    private static function key(mixed $key): string
    {
        return Arguments::key($key, SimpleCacheMistake::class);
    }

    /** @return list<string> */
    private static function keys(mixed $keys): array
    {
        if (!\is_iterable($keys)) {
            throw new SimpleCacheMistake('Keys must be iterable, ' . \get_debug_type($keys) . ' given');
        }
        $all = [];
        foreach ($keys as $key) {
            $all[] = self::key($key);
        }
        return $all;
    }
}

/** An invalid argument of PSR-16: a key or a time. */
final class SimpleCacheMistake extends \InvalidArgumentException implements \Psr\SimpleCache\InvalidArgumentException
{
}
