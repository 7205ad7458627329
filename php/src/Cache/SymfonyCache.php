<?php

declare(strict_types=1);

namespace Hearth\Cache;

use Hearth\Cache;
use Symfony\Contracts\Cache\ItemInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

/**
 * `Hearth\Cache` by Symfony's cache contracts, with tags, for any version of the contracts. It is a PSR-6 pool too.
 *
 * ```php
 * $cache = new Hearth\Cache\SymfonyCache(new Hearth\Cache('app'));
 * $value = $cache->get('key', function (ItemInterface $item) { $item->expiresAfter(60)->tag('news'); return compute(); });
 * ```
 */
final class SymfonyCache extends Pool implements TagAwareCacheInterface
{
    public function __construct(Cache $cache = new Cache('symfony'))
    {
        parent::__construct($cache);
    }

    /**
     * Returns the value; if there is none, the result of the callback. Across all tasks and workers, one
     * caller computes at a time.
     *
     * @param float|null $beta INF: compute now; 0: not before the value has expired; anything else: one caller computes a new value as long
     *     before the old one expires as the computation took, and others go on with the old one
     * @param array<string, mixed>|null $metadata metadata of a value that was computed here; else empty
     */
    public function get(string $key, callable $callback, ?float $beta = null, ?array &$metadata = null): mixed
    {
        self::key($key);
        if ($beta < 0) {
            throw new PoolMistake("\$beta must not be negative, $beta given");
        }
        $this->commit();
        if ($beta === \INF) {
            return $this->compute($this->getItem($key), $callback, $metadata, $this->save(...));
        }
        $metadata = [];
        if ($beta === 0.0 && ($item = $this->getItem($key))->isHit()) {
            return $item->get();
        }
        return $this->remember($key, $callback, $metadata);
    }

    public function delete(string $key): bool
    {
        return $this->deleteItem($key);
    }

    /** @param array<string> $tags */
    public function invalidateTags(array $tags): bool
    {
        $this->cache->deleteTags(\array_map(self::key(...), $tags));
        return true;
    }

    protected function item(string $key, mixed $value, bool $hit): Item
    {
        return new SymfonyItem($key, $value, $hit);
    }

    /** @param array<string, mixed> $metadata */
    private function remember(string $key, callable $callback, ?array &$metadata): mixed
    {
        $computed = null;
        $compute = function () use ($key, $callback, &$metadata, &$computed): Computed {
            $keep = function (SymfonyItem $item) use (&$computed): void {
                $computed = new Computed($item->value(), $item->left(), $item->tags());
            };
            $value = $this->compute($this->item($key, null, false), $callback, $metadata, $keep);
            return $computed ??= new Computed($value, null, [], false);
        };
        try {
            return $this->cache->remember($key, null, $compute);
        } catch (\Exception | \ValueError $error) {
            // The value was computed and cannot be kept, as a closure cannot.
            $computed === null ? throw $error : Arguments::logLoss($error);
            return $computed->value;
        }
    }

    /** @param callable(SymfonyItem): mixed $keep */
    private function compute(SymfonyItem $item, callable $callback, ?array &$metadata, callable $keep): mixed
    {
        $save = true;
        $begin = \microtime(true);
        $item->set($callback($item, $save));
        $metadata = $item->metadata($begin);
        if ($save) {
            $keep($item);
        }
        return $item->get();
    }
}

/** An item of Symfony's cache contracts. */
final class SymfonyItem extends Item implements ItemInterface
{
    /** @var array<string, string> */
    private array $tags = [];

    /** @param string|iterable<string> $tags */
    public function tag($tags): static
    {
        foreach (\is_iterable($tags) ? $tags : [$tags] as $tag) {
            $tag = Arguments::key($tag, PoolMistake::class);
            $this->tags[$tag] = $tag;
        }
        return $this;
    }

    /** @return array<string, mixed> always empty: metadata of a value is not read with it */
    public function getMetadata(): array
    {
        return [];
    }

    /** @return list<string> */
    public function tags(): array
    {
        // PHP converts keys that look like numbers to int.
        return \array_values(\array_map(\strval(...), $this->tags));
    }

    /**
     * Returns the metadata of a value whose computation began at that time.
     *
     * @internal
     * @return array<string, mixed>
     */
    public function metadata(float $begin): array
    {
        $now = \microtime(true);
        $left = $this->left();
        return \array_filter([
            self::METADATA_EXPIRY => $left === null ? null : $now + $left,
            self::METADATA_CTIME => (int) \ceil(1000 * ($now - $begin)),
            self::METADATA_TAGS => $this->tags ?: null,
        ], static fn (mixed $value): bool => $value !== null);
    }
}
