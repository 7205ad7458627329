<?php

declare(strict_types=1);

// The same query over a connection that is kept: of a pool, or persistent.

function boot(): void
{
}

function respond(): string
{
    $db = connection();
    $statement = $db->prepare('SELECT * FROM test1');
    $statement->execute();
    $rows = $statement->fetchAll(PDO::FETCH_ASSOC);
    $statement = null;
    give_back($db);

    return print_r($rows, true);
}
