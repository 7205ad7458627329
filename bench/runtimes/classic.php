<?php

declare(strict_types=1);

// The scenario as a script that runs anew for each request: Apache, php-fpm, php -S, and Hearth's classic mode.

/*CONSTANTS*/

/** A connection that the process keeps for its next request. */
function connection(): PDO
{
    return new PDO(DSN, USER, PASSWORD, DATABASE_OPTIONS + [PDO::ATTR_PERSISTENT => true]);
}

function give_back(PDO $db): void
{
}

/** What $make made once, from the memory that all processes share. */
function cached(string $key, callable $make): mixed
{
    $value = apcu_fetch($key, $found);
    if (!$found) {
        apcu_store($key, $value = $make());
    }

    return $value;
}

/*APP*/

boot();
/*TYPE header('Content-Type: %s');*/
$body = respond(/*REQUEST strtok($_SERVER['REQUEST_URI'], '?'), $_SERVER['QUERY_STRING'] ?? '', $_SERVER['REQUEST_METHOD'], static fn () => file_get_contents('php://input')*/);
/*ANSWER [$status, $headers, $body] = $body; http_response_code($status); foreach ($headers as $name => $value) { header("$name: $value"); }*/
echo $body;
