<?php

declare(strict_types=1);

namespace Hearth\Cache;

use Hearth\Cache;
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
    /** @var array<string, Item> */
    private array $deferred = [];

    /**
     * @param Cache $cache where its entries are; `clear()` clears all of it, so a namespace is better than the whole cache
     */
    public function __construct(protected readonly Cache $cache = new Cache('psr-6'))
    {
    }

    public function __destruct()
    {
        $this->commit();
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
        $this->deferred = [];
        return $this->cache->clear();
    }

    public function deleteItem($key): bool
    {
        $key = self::key($key);
        unset($this->deferred[$key]);
        $this->cache->delete($key);
        return true;
    }

    public function deleteItems(array $keys): bool
    {
        foreach ($keys = \array_map(self::key(...), $keys) as $key) {
            unset($this->deferred[$key]);
        }
        $this->cache->deleteMultiple($keys);
        return true;
    }

    public function save(CacheItemInterface $item): bool
    {
        if (!$item instanceof Item) {
            return false;
        }
        unset($this->deferred[$item->getKey()]);
        return Arguments::isKept(fn (): bool => $this->cache->set($item->getKey(), $item->value(), $item->left(), $item->tags()));
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        if (!$item instanceof Item) {
            return false;
        }
        $this->deferred[$item->getKey()] = clone $item;
        return true;
    }

    public function commit(): bool
    {
        $items = $this->deferred;
        $this->deferred = [];
        $all = true;
        foreach (self::groups($items) as [$seconds, $group]) {
            $all = $this->saveAll($group, $seconds) && $all;
        }
        return $all;
    }

    /**
     * Groups items that have the same tags and expire together, within a hundredth: as items do that got the same
     * ttl one after the other.
     *
     * @param array<string, Item> $items
     * @return list<array{?float, non-empty-list<Item>}> seconds until the first of the group expires, and the items
     */
    private static function groups(array $items): array
    {
        $left = \array_map(static fn (Item $item): float => $item->left() ?? \INF, $items);
        \asort($left);
        $groups = $begun = [];
        foreach ($left as $key => $seconds) {
            $tags = \implode("\0", $items[$key]->tags());
            $at = $begun[$tags] ?? null;
            if ($at === null || $seconds > ($groups[$at][0] ?? \INF) * 1.01) {
                $at = $begun[$tags] = \count($groups);
                $groups[] = [$seconds === \INF ? null : $seconds, []];
            }
            $groups[$at][1][] = $items[$key];
        }
        return $groups;
    }

    /**
     * Saves the items in one step.
     *
     * @param non-empty-list<Item> $items
     */
    private function saveAll(array $items, ?float $seconds): bool
    {
        $values = [];
        foreach ($items as $item) {
            $values[$item->getKey()] = $item->value();
        }
        if (Arguments::isKept(fn (): bool => $this->cache->setMultiple($values, $seconds, $items[0]->tags()))) {
            return true;
        }
        // One value that cannot be kept must not lose the others.
        $saved = \array_map($this->save(...), $items);
        return !\in_array(false, $saved, true);
    }

    /** Returns the item that is waiting to be saved; null if there is none. */
    private function waiting(string $key): ?Item
    {
        $item = $this->deferred[$key] ?? null;
        if ($item === null) {
            return null;
        }
        $left = $item->left();
        $lives = $left === null || $left > 0;
        return $this->item($key, $lives ? $item->value() : null, $lives);
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
