<?php

declare(strict_types=1);

// What an operation of Hearth\Cache takes beside the same of APCu, in one process, in turn: the median of 7 rounds, and the spread.
//
//     target/release/hearth run -d apc.enable_cli=1 bench/cache/run.php

const ROUNDS = 7;
const NANOSECONDS = 2e8;

$rows = static fn (int $count): array => \array_map(
    static fn (int $n): array => ['id' => $n, 'name' => "name $n", 'price' => $n * 1.5],
    \range(1, $count),
);
$values = ['an int' => 7, '20 rows' => $rows(20), '10 kB' => \str_repeat('x', 10_000), '1,000 rows' => $rows(1000)];
$cache = new Hearth\Cache();
$cases = [];
foreach ($values as $name => $value) {
    $cache->set($name, $value);
    apcu_store($name, $value);
    $cases["get $name"] = [fn () => $cache->get($name), fn () => apcu_fetch($name)];
}
foreach ($values as $name => $value) {
    $cases["set $name"] = [fn () => $cache->set($name, $value), fn () => apcu_store($name, $value)];
    $cases["set and get $name"] = [
        function () use ($cache, $name, $value): void { $cache->set($name, $value); $cache->get($name); },
        function () use ($name, $value): void { apcu_store($name, $value); apcu_fetch($name); },
    ];
}
$cache->set('n', 0);
apcu_store('n', 0);
$cases['increment'] = [fn () => $cache->increment('n'), fn () => apcu_inc('n')];
$cases['an empty function'] = [fn () => null, fn () => null];

/** Nanoseconds of one call. */
function measure(callable $call): float
{
    for ($count = 1; ; $count *= 4) {
        $begin = \hrtime(true);
        for ($i = 0; $i < $count; ++$i) {
            $call();
        }
        $time = \hrtime(true) - $begin;
        if ($time > NANOSECONDS / 8) {
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

\printf("%-24s %-32s %s\n", 'ns, with the call', 'Hearth\Cache', 'APCu');
foreach ($cases as $name => $pair) {
    $times = [[], []];
    for ($round = 0; $round < ROUNDS; ++$round) {
        foreach ($pair as $which => $call) {
            $times[$which][] = measure($call);
        }
    }
    \printf("%-24s %-32s %s\n", $name, shown($times[0]), shown($times[1]));
}
