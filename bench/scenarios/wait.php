<?php

declare(strict_types=1);

// One query that takes its time: the request waits, the processor does not.

function boot(): void
{
}

function respond(): string
{
    $db = connection();
    $statement = $db->prepare('SELECT SLEEP(?)');
    $statement->execute([WAIT]);
    $statement->fetchAll();
    $statement = null;
    give_back($db);

    return 'ok';
}
