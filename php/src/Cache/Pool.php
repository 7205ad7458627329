<?php

declare(strict_types=1);

namespace Hearth\Cache;

use Hearth\Cache;
use Hearth\Internal;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;

/**
 * `Hearth\Cache` as a PSR-6 pool, for any version of the PSR.
 *
 * ```php
 * $pool = new Hearth\Cache\Pool(new Hearth\Cache('shop'));
 * ```
 */
class Pool implements CacheItemPoolInterface
{
    /** What is deferred outside of requests: in the entry script, or in a classic site, whose process has one request. */
    private ?Deferred $outside = null;

    /**
     * @param Cache $cache where its entries are; `clear()` clears all of it, so a namespace is better than the whole cache
     */
    public function __construct(protected readonly Cache $cache = new Cache('psr-6'))
    {
    }

    public function getItem($key): CacheItemInterface
    {
        $key = self::key($key);
        $waiting = $this->waiting($key);
        if ($waiting !== null) {
            return $waiting;
        }
        // A default that no written value can be identical to.
        $none = new \stdClass();
        $value = $this->cache->get($key, $none);
        return $value === $none ? $this->item($key, null, false) : $this->item($key, $value, true);
    }

    /**
     * Returns the items, read in one step.
     *
     * @param array<string> $keys
     * @return array<string, Item>
     */
    public function getItems(array $keys = []): iterable
    {
        $items = [];
        foreach ($keys as $key) {
            $items[$key = self::key($key)] = $this->waiting($key);
        }
        $none = new \stdClass();
        $missing = \array_map(\strval(...), \array_keys(\array_filter($items, \is_null(...))));
        foreach ($this->cache->getMultiple($missing, $none) as $key => $value) {
            $items[$key] = $value === $none ? $this->item((string) $key, null, false) : $this->item((string) $key, $value, true);
        }
        return $items;
    }

    public function hasItem($key): bool
    {
        return $this->getItem($key)->isHit();
    }

    public function clear(): bool
    {
        $this->deferred()->items = [];
        return $this->cache->clear();
    }

    public function deleteItem($key): bool
    {
        $key = self::key($key);
        unset($this->deferred()->items[$key]);
        $this->cache->delete($key);
        return true;
    }

    public function deleteItems(array $keys): bool
    {
        foreach ($keys = \array_map(self::key(...), $keys) as $key) {
            unset($this->deferred()->items[$key]);
        }
        $this->cache->deleteMultiple($keys);
        return true;
    }

    public function save(CacheItemInterface $item): bool
    {
        if (!$item instanceof Item) {
            return false;
        }
        unset($this->deferred()->items[$item->getKey()]);
        return $item->saveTo($this->cache);
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        if (!$item instanceof Item) {
            return false;
        }
        $this->deferred()->items[$item->getKey()] = clone $item;
        return true;
    }

    public function commit(): bool
    {
        $saved = $this->deferred()->commit();
        return ($this->outside?->commit() ?? true) && $saved;
    }

    /** Returns the item that is waiting to be saved; null if there is none. */
    private function waiting(string $key): ?Item
    {
        $item = $this->deferred()->items[$key] ?? null;
        if ($item === null) {
            return null;
        }
        $left = $item->left();
        $lives = $left === null || $left > 0;
        return $this->item($key, $lives ? $item->value() : null, $lives);
    }

    /** Returns what this request has deferred: other requests of its worker may use the same pool. */
    private function deferred(): Deferred
    {
        if (!\function_exists('Hearth\Internal\locals') || Internal\taskId() === 0) {
            return $this->outside ??= new Deferred($this->cache);
        }
        $locals = Internal\locals();
        return $locals[$this] ??= new Deferred($this->cache);
    }

    protected function item(string $key, mixed $value, bool $hit): Item
    {
        return new Item($key, $value, $hit);
    }

    protected static function key(mixed $key): string
    {
        return Arguments::key($key, PoolMistake::class);
    }
}

/** An item of PSR-6: the value that was found, or that is to be saved. */
class Item implements CacheItemInterface
{
    private ?\DateTimeInterface $end = null;

    /** @internal */
    public function __construct(private readonly string $key, private mixed $value, private readonly bool $hit)
    {
    }

    public function getKey(): string
    {
        return $this->key;
    }

    public function get(): mixed
    {
        return $this->value;
    }

    public function isHit(): bool
    {
        return $this->hit;
    }

    public function set($value): static
    {
        $this->value = $value;
        return $this;
    }

    public function expiresAt($expiration): static
    {
        if ($expiration !== null && !$expiration instanceof \DateTimeInterface) {
            throw new PoolMistake('An end must be a DateTimeInterface or null, ' . \get_debug_type($expiration) . ' given');
        }
        $this->end = $expiration;
        return $this;
    }

    public function expiresAfter($time): static
    {
        $seconds = Arguments::seconds($time, PoolMistake::class);
        $now = \microtime(true);
        $this->end = $seconds === null ? null : \DateTimeImmutable::createFromFormat('U.u', \sprintf('%.6F', \max(0.0, $now + $seconds)));
        return $this;
    }

    /**
     * Writes the value; false if it cannot be kept.
     *
     * @internal
     */
    public function saveTo(Cache $cache): bool
    {
        return Arguments::isKept(fn (): bool => $cache->set($this->key, $this->value(), $this->left(), $this->tags()));
    }

    /**
     * Returns the tags that the value is written with.
     *
     * @internal
     * @return list<string>
     */
    public function tags(): array
    {
        return [];
    }

    /** @internal */
    public function value(): mixed
    {
        return $this->value;
    }

    /**
     * Returns the seconds that the value is kept from now on; null means no expiry.
     *
     * @internal
     */
    public function left(): ?float
    {
        return $this->end === null ? null : Arguments::until($this->end);
    }
}

/** An invalid argument of PSR-6: a key or a time. */
final class PoolMistake extends \InvalidArgumentException implements \Psr\Cache\InvalidArgumentException
{
}
