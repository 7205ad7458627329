<?php

declare(strict_types=1);

// The page of the write-up on cached queries (20 rows printed), from Hearth\Cache, from a static variable and from APCu: what a call
// of the handler takes, in one process, in turn; the median of 9 rounds, and the spread. Then a mix of reads and writes, counting
// with several processes at once, and the memory of an entry.
//
//     target/release/hearth run -d apc.enable_cli=1 bench/cache/page.php

const ROUNDS = 9;

/** Nanoseconds of one call. */
function measured(callable $call, int $count): float
{
    $begin = \hrtime(true);
    for ($i = 0; $i < $count; ++$i) {
        $call($i);
    }
    return (\hrtime(true) - $begin) / $count;
}

/** @param array<string, callable> $calls */
function inTurn(array $calls, int $count): void
{
    $times = [];
    for ($round = 0; $round < ROUNDS; ++$round) {
        foreach ($calls as $name => $call) {
            $times[$name][] = measured($call, $count);
        }
    }
    foreach ($times as $name => $all) {
        \sort($all);
        \printf("%-32s %9.0f ns (%.0f to %.0f)\n", $name, $all[\intdiv(ROUNDS, 2)], $all[0], $all[ROUNDS - 1]);
    }
}

$query = static fn (): array => \array_map(static fn (int $n): array => ['id' => (string) $n, 'name' => "name $n"], \range(1, 20));
$cache = new Hearth\Cache();
$static = static function () use ($query): array {
    static $rows;
    return $rows ??= $query();
};
apcu_store('rows', $query());
inTurn([
    'page, a static variable' => static fn () => \print_r($static(), true),
    'page, Hearth\Cache' => static fn () => \print_r($cache->remember('rows', 60, $query), true),
    'page, APCu' => static fn () => \print_r(apcu_fetch('rows'), true),
], 20_000);

$rows = $query();
inTurn([
    'half writes, Hearth\Cache' => static fn (int $i) => $i % 2 ? $cache->set('mix' . $i % 64, $rows) : $cache->get('mix' . $i % 64),
    'half writes, APCu' => static fn (int $i) => $i % 2 ? apcu_store('mix' . $i % 64, $rows) : apcu_fetch('mix' . $i % 64),
], 50_000);

/** Nanoseconds of one increment, while $processes do them at once. */
function contended(int $processes, callable $increment): float
{
    $begin = \hrtime(true);
    $pids = [];
    for ($n = 0; $n < $processes; ++$n) {
        $pid = \pcntl_fork();
        if ($pid === 0) {
            measured($increment, 200_000);
            \posix_kill(\getmypid(), \SIGKILL);
        }
        $pids[] = $pid;
    }
    foreach ($pids as $pid) {
        \pcntl_waitpid($pid, $status);
    }
    return (\hrtime(true) - $begin) / (200_000 * $processes);
}

foreach ([1, 2, 4] as $processes) {
    \printf(
        "increment, %d processes: %.0f ns Hearth\\Cache, %.0f ns APCu\n",
        $processes,
        contended($processes, static fn () => $cache->increment('n')),
        contended($processes, static fn () => apcu_inc('n')),
    );
}

foreach (['an int' => 7, '20 rows' => $rows, '1 kB' => \str_repeat('x', 1000)] as $name => $value) {
    [$before, $apcu] = [$cache->stats()['used'], apcu_sma_info(true)['avail_mem']];
    for ($i = 0; $i < 1000; ++$i) {
        $cache->set("$name $i", $value);
        apcu_store("$name $i", $value);
    }
    \printf("an entry, %s: %.0f bytes Hearth\\Cache, %.0f APCu\n", $name, ($cache->stats()['used'] - $before) / 1000, ($apcu - apcu_sma_info(true)['avail_mem']) / 1000);
}
