<?php

declare(strict_types=1);

// Several processes at once on one key and on many, and the memory of an entry; beside APCu.

require __DIR__ . '/measure.php';

const CALLS = 200_000;

/** Nanoseconds of wall time for one call of all, while $processes make CALLS each at once. */
function together(int $processes, callable $call): float
{
    $begin = \hrtime(true);
    $pids = [];
    for ($n = 0; $n < $processes; ++$n) {
        $pid = \pcntl_fork();
        if ($pid === 0) {
            for ($i = 0; $i < CALLS; ++$i) {
                $call($i * 7 + $n);
            }
            \posix_kill(\getmypid(), \SIGKILL);
        }
        $pids[] = $pid;
    }
    foreach ($pids as $pid) {
        \pcntl_waitpid($pid, $status);
    }
    return (\hrtime(true) - $begin) / (CALLS * $processes);
}

$cache = new Hearth\Cache();
$rows = rows(20);
for ($i = 0; $i < 64; ++$i) {
    $cache->set("key $i", $rows);
    apcu_store("key $i", $rows);
}
$cases = [
    'increment of one key' => [static fn () => $cache->increment('n'), static fn () => apcu_inc('n')],
    '100 % hits' => [static fn (int $i) => $cache->get('key ' . $i % 64), static fn (int $i) => apcu_fetch('key ' . $i % 64)],
    '50 % writes' => [
        static fn (int $i) => $i % 2 ? $cache->set('key ' . $i % 64, $rows) : $cache->get('key ' . $i % 64),
        static fn (int $i) => $i % 2 ? apcu_store('key ' . $i % 64, $rows) : apcu_fetch('key ' . $i % 64),
    ],
];
\printf("\n%-28s %-32s %s\n", 'ns, processes at once', 'Hearth\Cache', 'APCu');
foreach ($cases as $name => $calls) {
    foreach ([1, 2, 4, 8] as $processes) {
        $times = [[], []];
        for ($round = 0; $round < 3; ++$round) {
            foreach ($calls as $which => $call) {
                $times[$which][] = together($processes, $call);
            }
        }
        \printf("%-28s %-32s %s\n", "$name, $processes", shown($times[0]), shown($times[1]));
    }
}

\printf("\n%-28s %-32s %s\n", 'bytes of an entry', 'Hearth\Cache', 'APCu');
foreach (values() + ['1 kB' => \str_repeat('x', 1000)] as $name => $value) {
    [$before, $apcu] = [$cache->stats()['used'], apcu_sma_info(true)['avail_mem']];
    for ($i = 0; $i < 100; ++$i) {
        $cache->set("$name $i", $value);
        apcu_store("$name $i", $value);
    }
    $bytes = [($cache->stats()['used'] - $before) / 100, ($apcu - apcu_sma_info(true)['avail_mem']) / 100];
    \printf("%-28s %-32s %s\n", $name, \sprintf('%9.0f', $bytes[0]), \sprintf('%9.0f', $bytes[1]));
}
