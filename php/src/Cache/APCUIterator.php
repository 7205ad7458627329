<?php

declare(strict_types=1);

/**
 * APCu's iterator on `Hearth\Cache`, where `hearth.apcu` is on and APCu is not loaded. It lists the entries that exist when
 * it begins, and skips those that are gone by the time it reaches them.
 */
class APCUIterator implements \Iterator
{
    /** Entries whose values are read in one step, as in APCu. */
    private const CHUNK = 100;

    /** @var \Generator<string, array<string, mixed>>|null null before it begins */
    private ?\Generator $entries = null;

    /**
     * @param string|list<string>|null $search a regular expression, or keys; null is all
     * @param int $format `APC_ITER_…`: the fields that `current()` returns
     * @param int $chunk_size number of values read in one step; 0 means 100
     * @param int $list `APC_LIST_ACTIVE`; deleted entries are never listed
     */
    public function __construct(
        private $search = null,
        private int $format = \APC_ITER_ALL,
        private int $chunk_size = 0,
        private int $list = \APC_LIST_ACTIVE,
    ) {
        if ($format > \APC_ITER_ALL) {
            throw new \Error('APCUIterator format is invalid');
        }
        if ($chunk_size < 0) {
            throw new \Error('APCUIterator chunk size must be 0 or greater');
        }
        if ($list !== \APC_LIST_ACTIVE && $list !== \APC_LIST_DELETED) {
            throw new \Error('APCUIterator invalid list type');
        }
        if ($this->isPattern() && \preg_match($search, '') === false) {
            throw new \Error("Could not compile regular expression: $search");
        }
    }

    /** As in APCu, it cannot be cloned. */
    private function __clone()
    {
    }

    public function rewind(): void
    {
        $this->entries = $this->entries();
    }

    public function next(): void
    {
        $this->begun()->next();
    }

    public function valid(): bool
    {
        return $this->begun()->valid();
    }

    public function key(): string|int
    {
        return $this->there('key')->key();
    }

    /** @return array<string, mixed> */
    public function current(): mixed
    {
        return $this->there('current')->current();
    }

    public function getTotalHits(): int
    {
        return (int) \array_sum(\array_column($this->listed(), 'num_hits'));
    }

    public function getTotalSize(): int
    {
        return (int) \array_sum(\array_column($this->listed(), 'mem_size'));
    }

    public function getTotalCount(): int
    {
        return \count($this->listed());
    }

    /** Called by `apcu_delete()`. */
    private function deleteAll(): void
    {
        \apcu_delete(\array_column($this->listed(), 'info'));
    }

    /** @return \Generator<string, array<string, mixed>> */
    private function entries(): \Generator
    {
        foreach (\array_chunk($this->listed(), $this->chunk_size ?: self::CHUNK) as $entries) {
            $keys = \array_column($entries, 'info');
            $values = ($this->format & \APC_ITER_VALUE) !== 0 ? \Hearth\Internal\apcuPeek($keys) : \array_fill_keys($keys, null);
            foreach ($entries as $entry) {
                if (\array_key_exists($entry['info'], $values)) {
                    yield $entry['info'] => $this->fields($entry, $values[$entry['info']]);
                }
            }
        }
    }

    /** @return list<array<string, mixed>> */
    private function listed(): array
    {
        if (!isset($this->list)) {
            throw new \Error('Trying to use uninitialized APCUIterator');
        }
        $all = $this->list === \APC_LIST_ACTIVE ? \apcu_cache_info()['cache_list'] : [];
        return \array_values(match (true) {
            \is_array($this->search) => \array_filter($all, fn (array $entry): bool => \in_array($entry['info'], $this->search, true)),
            $this->isPattern() => \array_filter($all, fn (array $entry): bool => (bool) \preg_match($this->search, $entry['info'])),
            default => $all,
        });
    }

    private function isPattern(): bool
    {
        return \is_string($this->search) && $this->search !== '';
    }

    /**
     * @param array<string, mixed> $entry
     * @return array<string, mixed>
     */
    private function fields(array $entry, mixed $value): array
    {
        $fields = [
            'type' => [\APC_ITER_TYPE, 'user'],
            'key' => [\APC_ITER_KEY, $entry['info']],
            'value' => [\APC_ITER_VALUE, $value],
            'num_hits' => [\APC_ITER_NUM_HITS, (int) $entry['num_hits']],
            'mtime' => [\APC_ITER_MTIME, $entry['mtime']],
            'creation_time' => [\APC_ITER_CTIME, $entry['creation_time']],
            'deletion_time' => [\APC_ITER_DTIME, $entry['deletion_time']],
            'access_time' => [\APC_ITER_ATIME, $entry['access_time']],
            'ref_count' => [\APC_ITER_REFCOUNT, $entry['ref_count']],
            'mem_size' => [\APC_ITER_MEM_SIZE, $entry['mem_size']],
            'ttl' => [\APC_ITER_TTL, $entry['ttl']],
        ];
        $wanted = \array_filter($fields, fn (array $field): bool => ($this->format & $field[0]) !== 0);
        return \array_map(static fn (array $field): mixed => $field[1], $wanted);
    }

    private function begun(): \Generator
    {
        return $this->entries ??= $this->entries();
    }

    private function there(string $method): \Generator
    {
        return $this->valid() ? $this->begun() : throw new \Error("Cannot call $method() on invalid iterator");
    }
}
