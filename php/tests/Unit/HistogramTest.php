<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Internal\Histogram;
use Hearth\Tests\TestCase;

final class HistogramTest extends TestCase
{
    public function testEachTimeIsInTheFirstRangeThatEndsNoSooner(): void
    {
        $bounds = (new Histogram())->report()['bounds'];
        self::assertSame([0.0001, 10.0, 16], [$bounds[0], $bounds[15], \count($bounds)]);
        foreach ([...$bounds, \INF] as $range => $bound) {
            $histogram = new Histogram();
            $inside = [$bound, ($bounds[$range - 1] ?? -1.0) + 1e-9];
            \array_map($histogram->record(...), $inside);
            $expected = \array_fill(0, 17, 0);
            $expected[$range] = 2;
            self::assertSame($expected, $histogram->report()['counts'], "up to $bound s");
        }
    }

    public function testWhatItTells(): void
    {
        $histogram = new Histogram();
        foreach ([0.002, 0.002, 0.3, 11.0] as $seconds) {
            $histogram->record($seconds);
        }
        $told = $histogram->toArray();
        self::assertSame([4, 4, 11.0], [$histogram->count(), $told['count'], $told['max']]);
        self::assertEqualsWithDelta(11.304, $told['sum'], 1e-9);
        self::assertSame(17, \count($told['buckets']));
        self::assertSame(
            ['0.001' => 0, '0.0025' => 2, '0.25' => 2, '0.5' => 3, '10' => 3, '+Inf' => 4],
            \array_intersect_key($told['buckets'], ['0.001' => 1, '0.0025' => 1, '0.25' => 1, '0.5' => 1, '10' => 1, '+Inf' => 1]),
        );
        self::assertSame([$told['sum'], $told['max']], [$histogram->report()['sum'], $histogram->report()['max']]);
    }
}
