<?php

declare(strict_types=1);

// The app of the pool experiment: /test makes queries and computes, as its parameters say. See run.php for the parameters.

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

if ($parameters->get('pool.enabled')) {
    $pdo = new Hearth\Pool\Pdo(
        ...$database,
        size: $parameters->get('pool.size'),
        minimumIdle: $parameters->get('pool.minimum_idle'),
        idleTimeout: $parameters->get('pool.idle_timeout_sec'),
        maxLifetime: $parameters->get('pool.max_lifetime_sec'),
        borrowTimeout: $parameters->get('pool.borrowing_timeout_sec'),
        returnTimeout: $parameters->get('pool.returning_timeout_sec'),
        reserveTimeout: $parameters->get('pool.max_item_reserving_for_update_waiting_time_sec'),
        reset: $parameters->get('pool.reset'),
        init: $slow,
        name: 'experiment',
    );
    $connection = static fn (): PDO => $pdo;
} else {
    $connection = static function () use ($database, $slow): PDO {
        $pdo = new PDO(...$database);
        $slow($pdo);

        return $pdo;
    };
}

$query = static function () use ($parameters, $between, $connection): void {
    $duration = $between($parameters->get('connection.min_query_duration_sec'), $parameters->get('connection.max_query_duration_sec'));
    $connection()->query("SELECT SLEEP($duration)")->fetchAll();
};

$compute = static function () use ($parameters, $between): void {
    $seconds = $between($parameters->get('scenario.cpu_load_per_request_min_sec'), $parameters->get('scenario.cpu_load_per_request_max_sec'));
    $bytes = random_bytes(1024);
    for ($until = hrtime(true) + $seconds * 1e9; hrtime(true) < $until;) {
        mb_strlen($bytes);
    }
};

$work = array_fill(0, $parameters->get('scenario.query_per_request'), $query);
if ($parameters->get('scenario.cpu_load_per_request_max_sec') > 0) {
    $work[] = $compute;
}

return static function (Hearth\Request $request) use ($work, $parameters): Hearth\Response {
    if ($request->path !== '/test') {
        return new Hearth\Response("Not found\n", 404);
    }
    try {
        if ($parameters->get('scenario.parallel_queries_execution')) {
            Hearth\parallel($work);
        } else {
            foreach ($work as $part) {
                $part();
            }
        }
    } catch (PDOException $error) {
        return new Hearth\Response($error->getMessage() . "\n", 500);
    }

    return new Hearth\Response("ok\n");
};
