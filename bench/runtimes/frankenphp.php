<?php

declare(strict_types=1);

// The scenario as a FrankenPHP worker script.

/*CONSTANTS*/

function connection(): PDO
{
    static $db = null;

    return $db ??= new PDO(DSN, USER, PASSWORD, DATABASE_OPTIONS);
}

function give_back(PDO $db): void
{
}

/** What $make made once, kept by this thread. */
function cached(string $key, callable $make): mixed
{
    static $kept = [];

    return $kept[$key] ??= $make();
}

/*APP*/

boot();
/*SETTINGS*/
$handler = static function (): void {
    /*TYPE header('Content-Type: %s');*/
    $body = respond(/*REQUEST strtok($_SERVER['REQUEST_URI'], '?'), $_SERVER['QUERY_STRING'] ?? '', $_SERVER['REQUEST_METHOD'], static fn () => file_get_contents('php://input')*/);
    /*ANSWER [$status, $headers, $body] = $body; http_response_code($status); foreach ($headers as $name => $value) { header("$name: $value"); }*/
    echo $body;
};
while (frankenphp_handle_request($handler)) {
}
