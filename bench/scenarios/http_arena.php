<?php

declare(strict_types=1);

// HttpArena's profiles in one app, to its written rules: sums, JSON, uploads, and items in PostgreSQL.

const ITEM = 'SELECT id, name, category, price, quantity, active, tags, rating_score, rating_count FROM items ';

function boot(): void
{
}

/** @return array{int, array<string, string>, string} status, headers and body */
function respond(string $path, string $query, string $method, callable $body): array
{
    $parts = explode('/', $path);
    parse_str($query, $given);

    return match ($parts[1] ?? '') {
        'baseline11' => plain_answer((int) ($given['a'] ?? 0) + (int) ($given['b'] ?? 0) + ($method === 'POST' ? (int) $body() : 0)),
        'pipeline' => plain_answer('ok'),
        'json' => json_answer(totals((int) ($parts[2] ?? 0), (int) ($given['m'] ?? 1))),
        'upload' => plain_answer(strlen($body())),
        'async-db' => json_answer(in_range((int) ($given['min'] ?? 10), (int) ($given['max'] ?? 50), (int) ($given['limit'] ?? 50))),
        'crud' => crud($method, isset($parts[3]) ? (int) $parts[3] : null, $given, $body),
        default => plain_answer('not found', 404),
    };
}

/** @return array{int, array<string, string>, string} */
function plain_answer(string|int $text, int $status = 200): array
{
    return [$status, ['Content-Type' => 'text/plain'], (string) $text];
}

/** @return array{int, array<string, string>, string} */
function json_answer(mixed $value, int $status = 200): array
{
    return [$status, ['Content-Type' => 'application/json'], json_encode($value)];
}

/** The first items of the data set, each with its total. */
function totals(int $count, int $multiplier): array
{
    $items = array_slice(cached('dataset', static fn (): array => json_decode(file_get_contents(APP . '/dataset.json'), true)), 0, $count);
    foreach ($items as &$item) {
        $item['total'] = $item['price'] * $item['quantity'] * $multiplier;
    }

    return ['items' => $items, 'count' => count($items)];
}

/** @return list<array<string, mixed>> the rows of a query, as items */
function items(string $sql, array $values): array
{
    $db = connection();
    $statement = $db->prepare($sql);
    $statement->execute($values);
    $rows = $statement->fetchAll(PDO::FETCH_ASSOC);
    $statement = null;
    give_back($db);

    return array_map(static fn (array $row): array => [
        'id' => $row['id'],
        'name' => $row['name'],
        'category' => $row['category'],
        'price' => $row['price'],
        'quantity' => $row['quantity'],
        'active' => $row['active'],
        'tags' => json_decode($row['tags'], true),
        'rating' => ['score' => $row['rating_score'], 'count' => $row['rating_count']],
    ], $rows);
}

function in_range(int $min, int $max, int $limit): array
{
    $items = items(ITEM . 'WHERE price BETWEEN ? AND ? LIMIT ?', [$min, $max, max(1, min(50, $limit))]);

    return ['items' => $items, 'count' => count($items)];
}

/** @return array{int, array<string, string>, string} */
function crud(string $method, ?int $id, array $given, callable $body): array
{
    return match (true) {
        $id === null && $method === 'POST' => create(json_decode($body(), true)),
        $id === null => json_answer(page($given)),
        $method === 'PUT' => update($id, json_decode($body(), true)),
        default => read($id),
    };
}

function page(array $given): array
{
    $page = max(1, (int) ($given['page'] ?? 1));
    $limit = max(1, min(50, (int) ($given['limit'] ?? 10)));
    $items = items(ITEM . 'WHERE category = ? ORDER BY id LIMIT ? OFFSET ?', [$given['category'] ?? 'electronics', $limit, ($page - 1) * $limit]);

    return ['items' => $items, 'total' => count($items), 'page' => $page, 'limit' => $limit];
}

/** From the cache that all processes share, for 200 ms; the clock of APCu has whole seconds.
 * @return array{int, array<string, string>, string}
 */
function read(int $id): array
{
    [$until, $json] = apcu_fetch("item-$id") ?: [0, ''];
    if ($until > hrtime(true)) {
        return [200, ['Content-Type' => 'application/json', 'X-Cache' => 'HIT'], $json];
    }
    $item = items(ITEM . 'WHERE id = ?', [$id])[0] ?? null;
    if ($item === null) {
        return json_answer(['error' => 'not found'], 404);
    }
    $json = json_encode($item);
    apcu_store("item-$id", [hrtime(true) + 200_000_000, $json], 1);

    return [200, ['Content-Type' => 'application/json', 'X-Cache' => 'MISS'], $json];
}

/** Runs a statement and says how many rows it changed. */
function change(string $sql, array $values): int
{
    $db = connection();
    $statement = $db->prepare($sql);
    $statement->execute($values);
    $changed = $statement->rowCount();
    $statement = null;
    give_back($db);

    return $changed;
}

/** @return array{int, array<string, string>, string} */
function create(array $item): array
{
    change("INSERT INTO items VALUES (?, ?, ?, ?, ?, true, '[]', 0, 0)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, category = excluded.category, price = excluded.price, quantity = excluded.quantity",
        [$item['id'], $item['name'], $item['category'], $item['price'], $item['quantity']]);

    return json_answer($item, 201);
}

/** @return array{int, array<string, string>, string} */
function update(int $id, array $item): array
{
    $changed = change('UPDATE items SET name = ?, price = ?, quantity = ? WHERE id = ?', [$item['name'], $item['price'], $item['quantity'], $id]);
    apcu_delete("item-$id");

    return $changed > 0 ? json_answer(['id' => $id] + $item) : json_answer(['error' => 'not found'], 404);
}
