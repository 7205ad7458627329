<?php

declare(strict_types=1);

// TechEmpower's db, queries and updates on a table of numbers: random rows, each by a query of its own. WORLD says which test it is;
// `ids` in the query string says which rows, so that answers can be compared.

function boot(): void
{
}

/** @return list<int> */
function ids(string $query): array
{
    parse_str($query, $given);
    if (isset($given['ids'])) {
        return array_map(intval(...), explode(',', $given['ids']));
    }
    $ids = [];
    for ($count = min(500, max(1, (int) ($given['queries'] ?? 1))); $count > 0; $count--) {
        $ids[] = mt_rand(1, 10000);
    }

    return $ids;
}

/** @return list<array{id: int, randomNumber: int}> */
function worlds(PDO $db, array $ids): array
{
    $statement = $db->prepare('SELECT id, randomNumber FROM world WHERE id = ?');
    $worlds = [];
    foreach ($ids as $id) {
        $statement->execute([$id]);
        $worlds[] = $statement->fetch(PDO::FETCH_ASSOC);
        $statement->closeCursor();
    }

    return $worlds;
}

/** Each row gets another number; one that was asked for by its id keeps its own, so that the answer stays the same. */
function update(PDO $db, array $worlds, bool $keep): array
{
    // In the order of their ids: concurrent updates then never wait for each other in a circle.
    $statement = $db->prepare('UPDATE world SET randomNumber = ? WHERE id = ?');
    usort($worlds, static fn (array $a, array $b): int => $a['id'] <=> $b['id']);
    foreach ($worlds as &$world) {
        $world['randomNumber'] = $keep ? $world['randomNumber'] : mt_rand(1, 10000);
        $statement->execute([$world['randomNumber'], $world['id']]);
    }

    return $worlds;
}

function respond(string $path, string $query): string
{
    $db = connection();
    $worlds = worlds($db, ids($query));
    if (WORLD === 'updates') {
        $worlds = update($db, $worlds, str_contains($query, 'ids='));
    }
    give_back($db);

    return json_encode(WORLD === 'db' ? $worlds[0] : $worlds);
}
