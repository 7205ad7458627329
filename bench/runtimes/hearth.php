<?php

declare(strict_types=1);

// The scenario as a handler of Hearth: it is loaded once, and its connections are a pool's.

/*CONSTANTS*/

final class Connections
{
    public static ?PDO $pool = null;
}
if (DSN !== '') {
    Connections::$pool = new Hearth\Pool\Pdo(DSN, USER, PASSWORD, DATABASE_OPTIONS, size: POOL, minimumIdle: min(2, POOL), borrowTimeout: 10.0);
}

/** The pool's connection of this request. */
function connection(): PDO
{
    return Connections::$pool;
}

function give_back(PDO $db): void
{
    $db->release();
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

return static function (Hearth\Request $request): Hearth\Response|string {
    $body = respond(/*REQUEST $request->path, $request->queryString, $request->method, $request->body(...)*/);
    /*ANSWER return new Hearth\Response($body[2], $body[0], $body[1]);*/
    /*TYPE return new Hearth\Response($body, 200, ['content-type' => '%s']);*/

    return $body;
};
