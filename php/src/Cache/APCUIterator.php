<?php

declare(strict_types=1);

/**
 * APCu's iterator over `Hearth\Cache`, where `hearth.apcu` is on and APCu is not there. It goes over what there is when it is made.
 */
class APCUIterator implements \Iterator
{
    /** @var list<array<string, mixed>> */
    private array $entries = [];

    /**
     * @param string|list<string>|null $search a regular expression, or keys; null is all
     * @param int $format `APC_ITER_…`: what `current()` gives
     * @param int $chunk_size without effect
     * @param int $list `APC_LIST_ACTIVE`; nothing that was deleted is listed
     */
    public function __construct($search = null, private int $format = \APC_ITER_ALL, int $chunk_size = 0, int $list = \APC_LIST_ACTIVE)
    {
        if ($format > \APC_ITER_ALL) {
            throw new \Error('APCUIterator format is invalid');
        }
        if ($chunk_size < 0) {
            throw new \Error('APCUIterator chunk size must be 0 or greater');
        }
        if ($list !== \APC_LIST_ACTIVE && $list !== \APC_LIST_DELETED) {
            throw new \Error('APCUIterator invalid list type');
        }
        $all = $list === \APC_LIST_ACTIVE ? \apcu_cache_info()['cache_list'] : [];
        $this->entries = \array_values(match (true) {
            \is_array($search) => \array_filter($all, static fn (array $entry): bool => \in_array($entry['info'], $search, true)),
            \is_string($search) && $search !== '' => \array_filter($all, static fn (array $entry): bool => (bool) \preg_match($search, $entry['info'])),
            default => $all,
        });
    }

    public function rewind(): void
    {
        \reset($this->entries);
    }

    public function next(): void
    {
        \next($this->entries);
    }

    public function valid(): bool
    {
        return \key($this->entries) !== null;
    }

    public function key(): string|int
    {
        return $this->entry('key')['info'];
    }

    /** @return array<string, mixed> */
    public function current(): mixed
    {
        $entry = $this->entry('current');
        $fields = [
            'type' => [\APC_ITER_TYPE, 'user'],
            'key' => [\APC_ITER_KEY, $entry['info']],
            'value' => [\APC_ITER_VALUE, null],
            'num_hits' => [\APC_ITER_NUM_HITS, $entry['num_hits']],
            'mtime' => [\APC_ITER_MTIME, $entry['mtime']],
            'creation_time' => [\APC_ITER_CTIME, $entry['creation_time']],
            'deletion_time' => [\APC_ITER_DTIME, $entry['deletion_time']],
            'access_time' => [\APC_ITER_ATIME, $entry['access_time']],
            'ref_count' => [\APC_ITER_REFCOUNT, $entry['ref_count']],
            'mem_size' => [\APC_ITER_MEM_SIZE, $entry['mem_size']],
            'ttl' => [\APC_ITER_TTL, $entry['ttl']],
        ];
        $wanted = \array_filter($fields, fn (array $field): bool => ($this->format & $field[0]) !== 0);
        $values = \array_map(static fn (array $field): mixed => $field[1], $wanted);
        return isset($wanted['value']) ? \array_replace($values, ['value' => \apcu_fetch($entry['info'])]) : $values;
    }

    public function getTotalHits(): int
    {
        return (int) \array_sum(\array_column($this->entries, 'num_hits'));
    }

    public function getTotalSize(): int
    {
        return (int) \array_sum(\array_column($this->entries, 'mem_size'));
    }

    public function getTotalCount(): int
    {
        return \count($this->entries);
    }

    /**
     * For `apcu_delete()`.
     *
     * @internal
     */
    public function deleteAll(): void
    {
        \apcu_delete(\array_column($this->entries, 'info'));
    }

    /** @return array<string, mixed> */
    private function entry(string $method): array
    {
        return \current($this->entries) ?: throw new \Error("Cannot call $method() on invalid iterator");
    }
}
