<?php

declare(strict_types=1);

// The rows are read from the database once, then from a cache: a resident process keeps them, others ask APCu.

function boot(): void
{
}

/** @return list<array<string, mixed>> */
function rows(): array
{
    $db = connection();
    $statement = $db->prepare('SELECT * FROM test1');
    $statement->execute();
    $rows = $statement->fetchAll(PDO::FETCH_ASSOC);
    $statement = null;
    give_back($db);

    return $rows;
}

function respond(): string
{
    return print_r(cached('test1_data', rows(...)), true);
}
