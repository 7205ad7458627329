<?php

declare(strict_types=1);

// usage: php waits.php HEARTH CONTROL-SOCKET ACCESS-LOG
// prints "WORKERS AVERAGE-WAIT-FOR-A-WORKER-MS PSS-KB-PER-WORKER LONGEST-WAIT-MS PERCENT-ABOVE-10-MS" of a server since it began.

[, $hearth, $control, $log] = $argv;
$json = (string) shell_exec(escapeshellarg($hearth) . ' status --json --control ' . escapeshellarg($control));
$status = json_decode($json, true, flags: JSON_THROW_ON_ERROR);
$totals = array_column($status['totals'], 1, 0);
$cost = [];
foreach ($status['workers'] as $worker) {
    $rollup = (string) @file_get_contents("/proc/{$worker['pid']}/smaps_rollup");
    if (preg_match('/^Pss:\s+(\d+) kB/m', $rollup, $found)) {
        $cost[] = (int) $found[1];
    }
}
$waits = [];
foreach (new SplFileObject($log) as $line) {
    if (preg_match('/"queue_seconds":([0-9.]+)/', (string) $line, $found)) {
        $waits[] = 1e3 * (float) $found[1];
    }
}
$long = count(array_filter($waits, static fn (float $wait): bool => $wait > 10));
printf("%d %.3f %.0f %.1f %.2f\n", count($status['workers']), $totals['queued_microseconds'] / 1e3 / max(1, $totals['requests']), array_sum($cost) / max(1, count($cost)), max([0, ...$waits]), 100 * $long / max(1, count($waits)));
