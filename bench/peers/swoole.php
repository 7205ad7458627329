<?php

declare(strict_types=1);

// The same apps on Swoole, in its fastest mode unless told otherwise. usage: php -d extension=SWOOLE_SO swoole.php hello|plain|rows|mysql|wait10ms|mixed WORKERS [process]
// `plain` is `hello` without a coroutine per request. The pool of connections is as Swoole's own library has it.

[, $app, $workers] = $argv;
$mode = ($argv[3] ?? 'base') === 'process' ? SWOOLE_PROCESS : SWOOLE_BASE;
require __DIR__ . '/../apps/burn.php';
require __DIR__ . '/../apps/rows_of.php';

/** At most $size connections, made when they are needed first; who needs one more waits. */
final class Pool
{
    private readonly Swoole\Coroutine\Channel $free;
    private int $made = 0;

    public function __construct(private readonly int $size)
    {
        $this->free = new Swoole\Coroutine\Channel($size);
    }

    public function get(): PDO
    {
        if ($this->free->isEmpty() && $this->made < $this->size) {
            $this->made++;

            return new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        }

        return $this->free->pop();
    }

    public function put(PDO $db): void
    {
        $this->free->push($db);
    }
}

$server = new Swoole\Http\Server('127.0.0.1', 0, $mode);
$server->set([
    'worker_num' => (int) $workers,
    'log_level' => SWOOLE_LOG_ERROR,
    'hook_flags' => SWOOLE_HOOK_ALL,
    'enable_coroutine' => $app !== 'plain',
    'max_conn' => 20_000,
]);
$pool = null;
$rows = rows();
$server->on('workerStart', static function () use (&$pool, $app): void {
    $pool = new Pool($app === 'mysql' ? 64 : 100);
});
$server->on('request', match ($app) {
    'hello', 'plain' => static fn ($request, $response) => $response->end('ok'),
    'rows' => static fn ($request, $response) => $response->end(print_r($rows, true)),
    'mixed' => static function ($request, $response): void {
        if (isset($request->get['burn'])) {
            burn(30_000);
        }
        $response->end('ok');
    },
    'mysql' => static function ($request, $response) use (&$pool): void {
        $db = $pool->get();
        $row = $db->query('SELECT id, name, price FROM items WHERE id = ' . mt_rand(1, 10000))->fetch(PDO::FETCH_ASSOC);
        $pool->put($db);
        $response->header('content-type', 'application/json');
        $response->end(json_encode($row));
    },
    'wait10ms' => static function ($request, $response) use (&$pool): void {
        $db = $pool->get();
        $db->query('SELECT SLEEP(0.01)')->fetchAll();
        $pool->put($db);
        $response->end('ok');
    },
});
$server->on('start', static function ($server): void {
    echo "$server->port\n";
});
$server->start();
