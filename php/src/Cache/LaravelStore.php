<?php

declare(strict_types=1);

namespace Hearth\Cache;

use Hearth\Cache;
use Illuminate\Cache\Lock;
use Illuminate\Cache\TaggableStore;
use Illuminate\Contracts\Cache\LockProvider;
use Illuminate\Contracts\Cache\LockTimeoutException;

/**
 * `Hearth\Cache` as a cache store of Laravel, with tags and locks.
 *
 * ```php
 * Cache::extend('hearth', fn ($app, $config) => Cache::repository(new Hearth\Cache\LaravelStore($config['prefix'] ?? '')));
 * ```
 */
final class LaravelStore extends TaggableStore implements LockProvider
{
    /** @param Cache $cache the cache or namespace of its entries; `flush()` clears all of it */
    public function __construct(private readonly string $prefix = '', private readonly Cache $cache = new Cache('laravel'))
    {
    }

    public function get($key): mixed
    {
        return $this->cache->get($this->key($key));
    }

    public function many(array $keys): array
    {
        $values = $this->cache->getMultiple(\array_map($this->key(...), $keys));
        $found = [];
        foreach ($keys as $key) {
            $found[$key] = $values[$this->key($key)];
        }
        return $found;
    }

    public function put($key, $value, $seconds): bool
    {
        return $this->cache->set($this->key($key), $value, (float) $seconds);
    }

    /** Writes it if there is no value, in one step. */
    public function add($key, $value, $seconds): bool
    {
        return $this->cache->add($this->key($key), $value, (float) $seconds);
    }

    public function putMany(array $values, $seconds): bool
    {
        $keys = \array_map($this->key(...), \array_keys($values));
        return $this->cache->setMultiple(\array_combine($keys, $values), (float) $seconds);
    }

    /** Adds atomically. An existing value keeps its expiry. */
    public function increment($key, $value = 1): int
    {
        $key = $this->key($key);
        try {
            return $this->cache->increment($key, (int) $value);
        } catch (\TypeError) {
            return $this->addTo($key, (int) $value);
        }
    }

    public function decrement($key, $value = 1): int
    {
        return $this->increment($key, -(int) $value);
    }

    public function forever($key, $value): bool
    {
        return $this->cache->set($this->key($key), $value);
    }

    /** Gives an existing value a new expiry. */
    public function touch($key, $seconds): bool
    {
        $key = $this->key($key);
        $none = new \stdClass();
        $value = $this->cache->get($key, $none);
        return $value !== $none && $this->cache->compareAndSwap($key, $value, $value, (float) $seconds);
    }

    public function forget($key): bool
    {
        return $this->cache->delete($this->key($key));
    }

    public function flush(): bool
    {
        return $this->cache->clear();
    }

    public function getPrefix(): string
    {
        return $this->prefix;
    }

    public function lock($name, $seconds = 0, $owner = null): LaravelLock
    {
        return new LaravelLock($this->cache, $this->key($name), $seconds, $owner);
    }

    public function restoreLock($name, $owner): LaravelLock
    {
        return $this->lock($name, 0, $owner);
    }

    /** Adds to a value that is no int, such as a number as text, which other stores return. */
    private function addTo(string $key, int $by): int
    {
        do {
            $before = $this->cache->get($key);
            $sum = (int) $before + $by;
        } while (!$this->cache->compareAndSwap($key, $before, $sum) && !$this->cache->add($key, $sum));
        return $sum;
    }

    /** Makes a key of keys that Laravel allows and the cache does not: empty, with a NUL byte, or very long. */
    private function key(mixed $key): string
    {
        $key = $this->prefix . $key;
        $fits = $key !== '' && \strlen($key) <= 512 && !\str_contains($key, "\0");
        return $fits ? $key : 'sha256:' . \hash('sha256', $key);
    }
}

/** A lock of Laravel, held across all workers, and not lost when the cache is full. */
final class LaravelLock extends Lock
{
    /** Seconds of a lock without an end: some sixty years. */
    private const FOREVER = 2e9;

    /** @internal */
    public function __construct(private readonly Cache $cache, string $name, $seconds, ?string $owner)
    {
        parent::__construct($name, (int) $seconds, $owner);
    }

    public function acquire(): bool
    {
        return $this->acquireWithin(0);
    }

    /**
     * Waits without the long pauses of other stores: a released lock is taken within 20 ms.
     *
     * @throws LockTimeoutException
     */
    public function block($seconds, $callback = null): mixed
    {
        if (!$this->acquireWithin((float) $seconds)) {
            throw new LockTimeoutException();
        }
        if (!\is_callable($callback)) {
            return true;
        }
        try {
            return $callback();
        } finally {
            $this->release();
        }
    }

    public function release(): bool
    {
        return $this->cache->heldLock($this->name, $this->owner)?->release() ?? false;
    }

    public function forceRelease(): void
    {
        $this->cache->heldLock($this->name)?->release();
    }

    /** Returns '' if another owner holds the lock, because the cache does not know that owner's name. */
    protected function getCurrentOwner(): ?string
    {
        return match (true) {
            $this->cache->heldLock($this->name, $this->owner) !== null => $this->owner,
            $this->cache->heldLock($this->name) !== null => '',
            default => null,
        };
    }

    private function acquireWithin(float $wait): bool
    {
        $seconds = $this->seconds > 0 ? (float) $this->seconds : self::FOREVER;
        return $this->cache->lock($this->name, $seconds, $wait, $this->owner) !== null;
    }
}
