<?php

declare(strict_types=1);

// What the files of this folder have in common: calls are measured in turn, in one process; the median of 7 rounds, and the spread.

const ROUNDS = 7;
/** Of one call in one round, at least. */
const NANOSECONDS = 25_000_000;

/** Nanoseconds of one call, which gets its number. */
function measured(callable $call): float
{
    for ($count = 1; ; $count *= 4) {
        $begin = \hrtime(true);
        for ($i = 0; $i < $count; ++$i) {
            $call($i);
        }
        $time = \hrtime(true) - $begin;
        if ($time > NANOSECONDS) {
            return $time / $count;
        }
    }
}

/** @param list<float> $times */
function shown(array $times): string
{
    \sort($times);
    return \sprintf('%9.0f (%.0f to %.0f)', $times[\intdiv(\count($times), 2)], $times[0], \end($times));
}

/**
 * One line for each case: its calls beside each other.
 *
 * @param list<string> $names of the calls
 * @param array<string, list<callable>> $cases
 */
function inTurn(string $title, array $names, array $cases): void
{
    \printf("\n%-28s" . \str_repeat(' %-32s', \count($names)) . "\n", $title, ...$names);
    foreach ($cases as $case => $calls) {
        $times = \array_fill(0, \count($calls), []);
        for ($round = 0; $round < ROUNDS; ++$round) {
            foreach ($calls as $which => $call) {
                $times[$which][] = measured($call);
            }
        }
        \printf("%-28s" . \str_repeat(' %-32s', \count($calls)) . "\n", $case, ...\array_map(shown(...), $times));
    }
}

/** @return list<array<string, mixed>> of three columns */
function rows(int $count): array
{
    return \array_map(static fn (int $n): array => ['id' => $n, 'name' => "name $n", 'price' => $n * 1.5], \range(1, $count));
}

/** @return array<string, mixed> */
function values(): array
{
    return ['an int' => 7, '20 rows' => rows(20), '10 kB' => \str_repeat('x', 10_000), '1,000 rows' => rows(1000)];
}
