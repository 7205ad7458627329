<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * The native class.
 *
 * @internal
 */
final class Histogram
{
    /** Upper ends of the ranges in seconds; the last range has none. */
    public const BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

    /** @var list<int> how often each range was met */
    private array $counts = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    private float $sum = 0.0;
    private float $max = 0.0;

    public function record(float $seconds): void
    {
        $this->sum += $seconds;
        if ($seconds > $this->max) {
            $this->max = $seconds;
        }
        if ($seconds <= 0.0001) {
            ++$this->counts[0];

            return;
        }
        $range = $seconds > self::BOUNDS[6] ? 7 : 1;
        while ($range < 16 && $seconds > self::BOUNDS[$range]) {
            ++$range;
        }
        ++$this->counts[$range];
    }

    public function count(): int
    {
        return \array_sum($this->counts);
    }

    /** @return array{count: int, sum: float, max: float, buckets: array<string, int>} buckets: how many took at most so long */
    public function toArray(): array
    {
        $buckets = [];
        $count = 0;
        foreach ($this->counts as $range => $n) {
            $count += $n;
            $buckets[isset(self::BOUNDS[$range]) ? (string) self::BOUNDS[$range] : '+Inf'] = $count;
        }

        return ['count' => $count, 'sum' => $this->sum, 'max' => $this->max, 'buckets' => $buckets];
    }

    /** @return array{bounds: list<float>, counts: list<int>, sum: float, max: float} counts: how many fell into each range */
    public function report(): array
    {
        return ['bounds' => self::BOUNDS, 'counts' => $this->counts, 'sum' => $this->sum, 'max' => $this->max];
    }
}
