<?php

declare(strict_types=1);

// The scenario on Swoole: loaded once, a coroutine for each request, a channel as pool of connections.

/*CONSTANTS*/

/** At most POOL connections per worker, made when they are needed first; a request that needs one more waits. */
final class Connections
{
    private static ?Swoole\Coroutine\Channel $free = null;
    private static int $made = 0;

    public static function take(): PDO
    {
        self::$free ??= new Swoole\Coroutine\Channel(POOL);
        if (self::$free->isEmpty() && self::$made < POOL) {
            self::$made++;

            return new PDO(DSN, USER, PASSWORD, DATABASE_OPTIONS);
        }

        return self::$free->pop();
    }

    public static function put(PDO $db): void
    {
        self::$free->push($db);
    }
}

function connection(): PDO
{
    return Connections::take();
}

function give_back(PDO $db): void
{
    Connections::put($db);
}

/** What $make made once, kept by this process. */
function cached(string $key, callable $make): mixed
{
    static $kept = [];

    return $kept[$key] ??= $make();
}

/*APP*/

boot();
/*SETTINGS*/
$server = new Swoole\Http\Server('127.0.0.1', (int) getenv('BENCH_PORT'), getenv('BENCH_MODE') === 'process' ? SWOOLE_PROCESS : SWOOLE_BASE);
$server->set([
    'worker_num' => (int) getenv('BENCH_WORKERS'),
    'log_level' => SWOOLE_LOG_ERROR,
    'hook_flags' => SWOOLE_HOOK_ALL,
    'http_compression' => false,
    'max_conn' => 20_000,
    'package_max_length' => 64 * 1024 * 1024,
    /*FILES 'document_root' => __DIR__, 'enable_static_handler' => true, 'static_handler_locations' => ['/static'],*/
]);
$server->on('request', static function (Swoole\Http\Request $request, Swoole\Http\Response $response): void {
    $body = respond(/*REQUEST $request->server['request_uri'], $request->server['query_string'] ?? '', $request->server['request_method'], static fn () => $request->rawContent()*/);
    /*TYPE $response->header('Content-Type', '%s');*/
    /*ANSWER [$status, $headers, $body] = $body; $response->status($status); foreach ($headers as $name => $value) { $response->header($name, $value); }*/
    $response->end($body);
});
$server->start();
