<?php

declare(strict_types=1);

// The same on Swoole, with the pool of its own library (Swoole\ConnectionPool), which makes a connection when none is free, up to its
// size: a coroutine for each part of a request.

use Swoole\Coroutine;
use Swoole\Http\{Request, Response, Server};

require __DIR__ . '/work.php';

$pool = null;
$isPooled = $parameters->get('pool.enabled');
$ask = static function () use (&$pool, $isPooled, $connect, $query): void {
    if (!$isPooled) {
        $query($connect());

        return;
    }
    $pdo = $pool->get();
    try {
        $query($pdo);
    } finally {
        $pool->put($pdo);
    }
};
$work = array_fill(0, $parameters->get('scenario.query_per_request'), $ask);
if ($parameters->get('scenario.cpu_load_per_request_max_sec') > 0) {
    $work[] = $compute;
}

/** Runs all parts at once, or one after the other; throws what the first of them that failed threw. */
$run = static function (array $work) use ($parameters): void {
    if (!$parameters->get('scenario.parallel_queries_execution')) {
        array_map(static fn (callable $part) => $part(), $work);

        return;
    }
    $failed = null;
    $guarded = static fn (callable $part): callable => static function () use ($part, &$failed): void {
        try {
            $part();
        } catch (PDOException $error) {
            $failed ??= $error;
        }
    };
    Coroutine\batch(array_map($guarded, $work));
    $failed === null || throw $failed;
};

$server = new Server('127.0.0.1', (int) getenv('BENCH_PORT'), getenv('BENCH_MODE') === 'process' ? SWOOLE_PROCESS : SWOOLE_BASE);
$server->set([
    'worker_num' => (int) getenv('BENCH_WORKERS'),
    'log_level' => SWOOLE_LOG_ERROR,
    'hook_flags' => SWOOLE_HOOK_ALL,
    'http_compression' => false,
    'max_conn' => 20_000,
]);
$server->on('workerStart', static function () use (&$pool, $parameters, $connect): void {
    $pool = new Swoole\ConnectionPool($connect, $parameters->get('pool.size'));
});
$server->on('request', static function (Request $request, Response $response) use ($run, $work): void {
    if ($request->server['request_uri'] !== '/test') {
        $response->status(404);
        $response->end("Not found\n");

        return;
    }
    try {
        $run($work);
        $response->end("ok\n");
    } catch (PDOException $error) {
        $response->status(500);
        $response->end($error->getMessage() . "\n");
    }
});
$server->start();
