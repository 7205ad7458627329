<?php

declare(strict_types=1);

// A page of 20 rows: the first request of all workers makes the query, the others print what it found, for a minute.

$db = new Hearth\Pool\Pdo(getenv('DB_DSN') ?: 'sqlite::memory:', getenv('DB_USER') ?: null, getenv('DB_PASSWORD') ?: null);
$cache = new Hearth\Cache();
$sql = getenv('SQL') ?: 'WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 20) SELECT id, id * id AS square FROM n';

return fn (): string => '<pre>' . print_r($cache->remember('rows', 60, fn (): array => $db->query($sql)->fetchAll(PDO::FETCH_ASSOC)), true);
