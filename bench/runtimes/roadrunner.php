<?php

declare(strict_types=1);

// The scenario as a RoadRunner worker, without PSR-7 objects.

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
$worker = new Spiral\RoadRunner\Http\HttpWorker(Spiral\RoadRunner\Worker::create());
while ($request = $worker->waitRequest()) {
    $parts = parse_url($request->uri);
    $body = respond(/*REQUEST $parts['path'] ?? '/', $parts['query'] ?? '', $request->method, static fn () => $request->body*/);
    /*ANSWER $worker->respond($body[0], $body[2], array_map(static fn ($value) => [$value], $body[1])); continue;*/
    $headers = [];
    /*TYPE $headers['Content-Type'] = ['%s'];*/
    $worker->respond(200, $body, $headers);
}
