<?php

namespace Hearth\Internal {

    /** @internal How long something took, counted by ranges. */
    final class Histogram
    {
        public function record(float $seconds): void
        {
        }

        /** How often `record()` was called. */
        public function count(): int
        {
        }

        /** @return array{count: int, sum: float, max: float, buckets: array<string, int>} buckets: how many took at most so long */
        public function toArray(): array
        {
        }

        /** @return array{bounds: list<float>, counts: list<int>, sum: float, max: float} counts: how many fell into each range */
        public function report(): array
        {
        }
    }
}
