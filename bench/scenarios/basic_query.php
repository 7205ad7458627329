<?php

declare(strict_types=1);

// A connection to the database, one query, two rows.

function boot(): void
{
}

function respond(): string
{
    $db = new PDO(DSN, USER, PASSWORD, DATABASE_OPTIONS);
    $statement = $db->prepare('SELECT * FROM test1');
    $statement->execute();

    return print_r($statement->fetchAll(PDO::FETCH_ASSOC), true);
}
