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
        $this->forget(null);
        return $this->cache->clear();
    }

    public function deleteItem($key): bool
    {
        $key = self::key($key);
        $this->forget([$key]);
        $this->cache->delete($key);
        return true;
    }

    public function deleteItems(array $keys): bool
    {
        $this->forget($keys = \array_map(self::key(...), $keys));
        $this->cache->deleteMultiple($keys);
        return true;
    }

    public function save(CacheItemInterface $item): bool
    {
        if (!$item instanceof Item) {
            return false;
        }
        $this->forget([$item->getKey()]);
        return $item->saveTo($this->cache);
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        if (!$item instanceof Item) {
            return false;
        }
        $this->deferred(true)->items[$item->getKey()] = clone $item;
        return true;
    }

    public function commit(): bool
    {
        $saved = $this->deferred()?->commit() ?? true;
        return ($this->outside?->commit() ?? true) && $saved;
    }

    /** Returns the item that is waiting to be saved; null if there is none. */
    private function waiting(string $key): ?Item
    {
        $item = $this->deferred()?->items[$key] ?? null;
        if ($item === null) {
            return null;
        }
        $left = $item->left();
        $lives = $left === null || $left > 0;
        return $this->item($key, $lives ? $item->value() : null, $lives);
    }

    /**
     * Takes back what is waiting to be saved.
     *
     * @param ?array<string> $keys null: all of it
     */
    private function forget(?array $keys): void
    {
        $deferred = $this->deferred();
        if ($deferred !== null) {
            $deferred->items = $keys === null ? [] : \array_diff_key($deferred->items, \array_flip($keys));
        }
    }

    /**
     * Returns what this request has deferred: other requests of its worker may use the same pool. Null if that is nothing, unless a place for
     * it is to be made.
     *
     * @return ($make is true ? Deferred : ?Deferred)
     */
    private function deferred(bool $make = false): ?Deferred
    {
        if (!\function_exists('Hearth\Internal\locals') || Internal\taskId() === 0) {
            return $make ? $this->outside ??= new Deferred($this->cache) : $this->outside;
        }
        $locals = Internal\locals();
        return $make ? $locals[$this] ??= new Deferred($this->cache) : $locals[$this] ?? null;
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
