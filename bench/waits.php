<?php

declare(strict_types=1);

// usage: php waits.php HEARTH CONTROL-SOCKET
// prints "WORKERS AVERAGE-WAIT-FOR-A-WORKER-MS PSS-KB-PER-WORKER" of a server.

[, $hearth, $control] = $argv;
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
printf("%d %.3f %.0f\n", count($status['workers']), $totals['queued_microseconds'] / 1e3 / max(1, $totals['requests']), array_sum($cost) / max(1, count($cost)));
