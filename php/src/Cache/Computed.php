<?php

declare(strict_types=1);

namespace Hearth\Cache;

/**
 * What the computation of a `Hearth\Cache::remember()` may return in place of its value: how it is kept is known only then.
 *
 * @internal for the adapters
 */
final class Computed
{
    /**
     * @param float|null $ttl seconds; null is for ever
     * @param list<string> $tags one that is deleted during the computation does not end the value: it is not known before
     */
    public function __construct(
        public readonly mixed $value,
        public readonly ?float $ttl,
        public readonly array $tags = [],
        public readonly bool $isKept = true,
    ) {
    }
}
