<?php

declare(strict_types=1);

// What a request of the pool experiment does, on whichever server: `$query` on what `$connection` gives, and `$compute`.

require __DIR__ . '/parameters.php';

$parameters = Parameters::fromJson((string) getenv('POOL_EXPERIMENT'));

/** A number of seconds between two bounds, in whole milliseconds, as the write-up's own runner draws it. */
$between = static fn (float $min, float $max): float => mt_rand((int) ($min * 1000), (int) ($max * 1000)) / 1000;

$slow = static function (PDO $pdo) use ($parameters, $between): void {
    $delay = $between($parameters->get('connection.min_delay_sec'), $parameters->get('connection.max_delay_sec'));
    if ($delay > 0) {
        $pdo->query("SELECT SLEEP($delay)")->fetchAll();
    }
};
$database = [
    $parameters->get('connection.dsn'),
    $parameters->get('connection.username'),
    $parameters->get('connection.password'),
    [PDO::ATTR_TIMEOUT => 1],
];

/** A connection made for this request. */
$connect = static function () use ($database, $slow): PDO {
    $pdo = new PDO(...$database);
    $slow($pdo);

    return $pdo;
};

$query = static function (PDO $pdo) use ($parameters, $between): void {
    $duration = $between($parameters->get('connection.min_query_duration_sec'), $parameters->get('connection.max_query_duration_sec'));
    $pdo->query("SELECT SLEEP($duration)")->fetchAll();
};

$compute = static function () use ($parameters, $between): void {
    $seconds = $between($parameters->get('scenario.cpu_load_per_request_min_sec'), $parameters->get('scenario.cpu_load_per_request_max_sec'));
    $bytes = random_bytes(1024);
    for ($until = hrtime(true) + $seconds * 1e9; hrtime(true) < $until;) {
        mb_strlen($bytes);
    }
};
