<?php

declare(strict_types=1);

// A page of an app that serves one request at a time: ten queries of 2.5 ms, and 2 ms of CPU.

require __DIR__ . '/burn.php';

$db = null;

return static function () use (&$db): string {
    $db ??= new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    for ($query = 0; $query < 10; $query++) {
        $db->query('SELECT SLEEP(0.0025)')->fetchAll();
    }
    burn(2_000);

    return 'ok';
};
