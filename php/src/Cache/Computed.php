<?php

declare(strict_types=1);

namespace Hearth\Cache;

/**
 * A value that a computation of `Hearth\Cache::remember()` may return together with its ttl and tags,
 * which are only known then.
 *
 * @internal for the adapters
 */
final class Computed
{
    /**
     * @param float|null $ttl seconds; null means no expiry
     * @param list<string> $tags known only now: deleting one during the computation does not invalidate the value
     */
    public function __construct(
        public readonly mixed $value,
        public readonly ?float $ttl,
        public readonly array $tags = [],
        public readonly bool $isKept = true,
    ) {
    }
}
