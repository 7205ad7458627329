<?php

declare(strict_types=1);

// A pooled connection and a prepared statement of one row.

$pool = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth');

return static function () use ($pool): string {
    $statement = $pool->prepare('SELECT name FROM items WHERE id = ?');
    $statement->execute([4711]);

    return $statement->fetchColumn();
};
