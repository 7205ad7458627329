<?php

declare(strict_types=1);

// What a real application does, in the numbers of the write-up: classes, reads of the cache, files, queries that wait.
// REAL_APP says how many of each.

function boot(): void
{
    error_reporting(E_ALL);
    require_once CLASSES . '/functions.php';
    require_once CLASSES . '/autoload.php';
}

/** @return list<array<string, mixed>> */
function query(PDO $db, string $sql): array
{
    $statement = $db->prepare($sql);
    $statement->execute();

    return $statement->fetchAll(PDO::FETCH_ASSOC);
}

/** @return list<array<string, mixed>> */
function rows(): array
{
    $db = connection();
    $rows = query($db, 'SELECT * FROM test1');
    give_back($db);

    return $rows;
}

function respond(): string
{
    load_random_classes(REAL_APP['classes']);
    $rows = [];
    for ($read = 0; $read < REAL_APP['reads']; $read++) {
        $rows = cached('test1_data', rows(...));
    }
    for ($file = 0; $file < REAL_APP['files']; $file++) {
        file_put_contents(FILES . "/$file.txt", 'some content here');
    }
    for ($file = 0; $file < REAL_APP['files']; $file++) {
        file_get_contents(FILES . "/$file.txt");
    }
    if (REAL_APP['queries'] > 0) {
        $db = connection();
        for ($query = 0; $query < REAL_APP['queries']; $query++) {
            query($db, REAL_APP['sql']);
        }
        give_back($db);
    }

    return print_r($rows, true);
}
