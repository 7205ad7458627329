<?php

declare(strict_types=1);

// The app of the pool experiment: /test makes queries and computes, as its parameters say. See run.php for the parameters.

require __DIR__ . '/work.php';

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
    $connection = $connect;
}

$work = array_fill(0, $parameters->get('scenario.query_per_request'), static fn () => $query($connection()));
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
