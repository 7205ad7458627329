<?php

declare(strict_types=1);

// The same apps on Swoole's fastest mode. usage: php -d extension=SWOOLE_SO swoole.php hello|mysql|wait10ms WORKERS

[, $app, $workers] = $argv;

$server = new Swoole\Http\Server('127.0.0.1', 0, SWOOLE_BASE);
$server->set(['worker_num' => (int) $workers, 'log_level' => SWOOLE_LOG_ERROR, 'hook_flags' => SWOOLE_HOOK_ALL]);
$free = [];
$query = static function (string $sql) use (&$free): array {
    $db = array_pop($free) ?? new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $row = $db->query($sql)->fetch(PDO::FETCH_ASSOC);
    $free[] = $db;

    return $row;
};
$server->on('request', match ($app) {
    'hello' => static fn ($request, $response) => $response->end('ok'),
    'mysql' => static function ($request, $response) use ($query): void {
        $response->header('content-type', 'application/json');
        $response->end(json_encode($query('SELECT id, name, price FROM items WHERE id = ' . mt_rand(1, 10000))));
    },
    'wait10ms' => static function ($request, $response) use ($query): void {
        $query('SELECT SLEEP(0.01)');
        $response->end('ok');
    },
});
$server->on('start', static function ($server): void {
    echo "$server->port\n";
});
$server->start();
