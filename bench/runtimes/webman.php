<?php

declare(strict_types=1);

// The scenario as the route of a webman project: this file is its config/route.php.

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
Webman\Route::any('/[{path:.*}]', static function (support\Request $request) {
    $body = respond(/*REQUEST $request->path(), $request->queryString(), $request->method(), $request->rawBody(...)*/);
    /*ANSWER return new support\Response(...$body);*/
    /*TYPE return new support\Response(200, ['Content-Type' => '%s'], $body);*/

    return new support\Response(200, [], $body);
});
