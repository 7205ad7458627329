<?php

declare(strict_types=1);

namespace Hearth\Cache;

use Hearth\Cache;

/**
 * Items of a PSR-6 pool that are saved later: by `commit()`, or when the request or the pool ends.
 *
 * @internal
 */
final class Deferred
{
    /** @var array<string, Item> */
    public array $items = [];

    public function __construct(private readonly Cache $cache)
    {
    }

    public function __destruct()
    {
        $this->commit();
    }

    public function commit(): bool
    {
        $items = $this->items;
        $this->items = [];
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
        $saved = \array_map(fn (Item $item): bool => $item->saveTo($this->cache), $items);
        return !\in_array(false, $saved, true);
    }
}
