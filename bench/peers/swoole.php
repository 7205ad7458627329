<?php

declare(strict_types=1);

// The same apps on Swoole, in its fastest mode unless told otherwise. usage: php -d extension=SWOOLE_SO swoole.php hello|plain|rows|mixed WORKERS [process]
// `plain` is `hello` without a coroutine per request.

[, $app, $workers] = $argv;
$mode = ($argv[3] ?? 'base') === 'process' ? SWOOLE_PROCESS : SWOOLE_BASE;
require __DIR__ . '/../apps/burn.php';
require __DIR__ . '/../apps/rows_of.php';

$server = new Swoole\Http\Server('127.0.0.1', 0, $mode);
$server->set([
    'worker_num' => (int) $workers,
    'log_level' => SWOOLE_LOG_ERROR,
    'hook_flags' => SWOOLE_HOOK_ALL,
    'enable_coroutine' => $app !== 'plain',
    'max_conn' => 20_000,
]);
$rows = rows();
$server->on('request', match ($app) {
    'hello', 'plain' => static fn ($request, $response) => $response->end('ok'),
    'rows' => static fn ($request, $response) => $response->end(print_r($rows, true)),
    'mixed' => static function ($request, $response): void {
        if (isset($request->get['burn'])) {
            burn(30_000);
        }
        $response->end('ok');
    },
});
$server->on('start', static function ($server): void {
    echo "$server->port\n";
});
$server->start();
