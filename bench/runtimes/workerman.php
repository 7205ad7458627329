<?php

declare(strict_types=1);

// The scenario on Workerman: loaded once, one request at a time in each process, one connection to the database each.

require getenv('BENCH_VENDOR');

/*CONSTANTS*/

function connection(): PDO
{
    static $db = null;

    return $db ??= new PDO(DSN, USER, PASSWORD, DATABASE_OPTIONS);
}

function give_back(PDO $db): void
{
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
$worker = new Workerman\Worker('http://127.0.0.1:' . getenv('BENCH_PORT'));
$worker->count = (int) getenv('BENCH_WORKERS');
$worker->onMessage = static function (Workerman\Connection\TcpConnection $connection, Workerman\Protocols\Http\Request $request): void {
    /*FILES if (str_starts_with($request->path(), '/static/')) { $file = realpath(__DIR__ . $request->path()); $connection->send($file ? (new Workerman\Protocols\Http\Response())->withFile($file) : new Workerman\Protocols\Http\Response(404)); return; }*/
    $body = respond(/*REQUEST $request->path(), $request->queryString(), $request->method(), $request->rawBody(...)*/);
    /*TYPE $connection->send(new Workerman\Protocols\Http\Response(200, ['Content-Type' => '%s'], $body)); return;*/
    /*ANSWER $connection->send(new Workerman\Protocols\Http\Response(...$body)); return;*/
    $connection->send($body);
};
Workerman\Connection\TcpConnection::$defaultMaxPackageSize = 64 * 1024 * 1024;
Workerman\Worker::$pidFile = getenv('BENCH_OWN') . '/workerman.pid';
Workerman\Worker::$logFile = getenv('BENCH_OWN') . '/workerman.log';
Workerman\Worker::$statusFile = getenv('BENCH_OWN') . '/workerman.status';
Workerman\Worker::runAll();
