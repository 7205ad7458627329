<?php

declare(strict_types=1);

namespace Guestbook;

use PDO;

/** The entries in the database: plain, blocking PDO. While a query waits, the worker serves other requests. */
final class Entries
{
    private const MIGRATIONS = [
        1 => [
            'sqlite' => 'CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
                message TEXT NOT NULL, written_at INTEGER NOT NULL)',
            'mysql' => 'CREATE TABLE entries (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80) NOT NULL,
                message TEXT NOT NULL, written_at BIGINT NOT NULL) CHARACTER SET utf8mb4',
            'pgsql' => 'CREATE TABLE entries (id BIGSERIAL PRIMARY KEY, name TEXT NOT NULL,
                message TEXT NOT NULL, written_at BIGINT NOT NULL)',
        ],
    ];

    public function __construct(private readonly Connections $connections)
    {
    }

    /** Brings the tables up to date; once, while the server starts. */
    public function migrate(): void
    {
        $this->connections->with(static function (PDO $db): void {
            $db->exec('CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY)');
            $done = $db->query('SELECT version FROM migrations')->fetchAll(PDO::FETCH_COLUMN);
            foreach (self::MIGRATIONS as $version => $statements) {
                if (!\in_array($version, \array_map('intval', $done), true)) {
                    $db->exec($statements[$db->getAttribute(PDO::ATTR_DRIVER_NAME)]);
                    $db->prepare('INSERT INTO migrations (version) VALUES (?)')->execute([$version]);
                }
            }
        });
    }

    /**
     * The newest first.
     *
     * @param int $limit at most so many
     * @param int|null $before only those with a smaller id
     * @return list<Entry>
     */
    public function latest(int $limit, ?int $before = null): array
    {
        return $this->connections->with(static function (PDO $db) use ($limit, $before): array {
            $query = $db->prepare('SELECT id, name, message, written_at FROM entries WHERE id < ? ORDER BY id DESC LIMIT ' . $limit);
            $query->execute([$before ?? \PHP_INT_MAX]);

            return \array_map(Entry::fromRow(...), $query->fetchAll());
        });
    }

    public function find(int $id): ?Entry
    {
        return $this->connections->with(static function (PDO $db) use ($id): ?Entry {
            $query = $db->prepare('SELECT id, name, message, written_at FROM entries WHERE id = ?');
            $query->execute([$id]);
            $row = $query->fetch();

            return $row === false ? null : Entry::fromRow($row);
        });
    }

    public function add(string $name, string $message): Entry
    {
        return $this->connections->with(static function (PDO $db) use ($name, $message): Entry {
            $at = \time();
            $db->prepare('INSERT INTO entries (name, message, written_at) VALUES (?, ?, ?)')->execute([$name, $message, $at]);

            return new Entry((int) $db->lastInsertId(), $name, $message, $at);
        });
    }
}
