<?php

declare(strict_types=1);

// Each request waits 10 ms in the database.

require __DIR__ . '/connections.php';

$free = [];

return function () use (&$free): string {
    $db = connection($free);
    $db->query('SELECT SLEEP(0.01)')->fetchAll();
    $free[] = $db;

    return 'ok';
};
