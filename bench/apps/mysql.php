<?php

declare(strict_types=1);

// One query by key, as JSON: plain blocking PDO and a list of free connections per worker.

require __DIR__ . '/connections.php';

$free = [];

return function (Hearth\Request $request) use (&$free): Hearth\Response {
    $db = connection($free);
    $row = $db->query('SELECT id, name, price FROM items WHERE id = ' . mt_rand(1, 10000))->fetch(PDO::FETCH_ASSOC);
    $free[] = $db;

    return Hearth\Response::json($row);
};
