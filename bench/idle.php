<?php

declare(strict_types=1);

// Memory per idle keep-alive connection. usage: php idle.php PORT CONNECTIONS PID...
// Each connection makes one request and stays. Prints bytes per connection: growth of the processes' proportional memory.

$port = (int) $argv[1];
$count = (int) $argv[2];
$pids = array_slice($argv, 3);

function memory(array $pids): int
{
    $kilobytes = 0;
    foreach ($pids as $pid) {
        preg_match('/^Pss:\s+(\d+)/m', (string) @file_get_contents("/proc/$pid/smaps_rollup"), $found);
        $kilobytes += (int) ($found[1] ?? 0);
    }

    return $kilobytes * 1024;
}

function open(int $port): mixed
{
    $stream = stream_socket_client("tcp://127.0.0.1:$port", timeout: 10) ?: exit("cannot connect\n");
    fwrite($stream, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (!str_starts_with((string) fread($stream, 4096), 'HTTP/1.1 200')) {
        exit("no answer\n");
    }

    return $stream;
}

$warm = array_map(static fn () => open($port), range(1, 100));
$before = memory($pids);
$streams = [];
for ($number = 0; $number < $count; $number++) {
    $streams[] = open($port);
}
printf("%d\n", (memory($pids) - $before) / $count);
