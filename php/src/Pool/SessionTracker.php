<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Tracks what statements of a `Pdo` do to the session of their connection: settings, transactions, values for later queries.
 *
 * @internal
 */
final class SessionTracker
{
    public function __construct(private readonly string $driverName, private readonly Sql $sql, private readonly Pool $pool)
    {
    }

    /** Returns what a statement that is not among the known ones may do to its session: of Sql::CHANGES and Sql::WRITES. */
    public function effectsOf(Entry $entry, string $sql): int
    {
        $judgement = $this->sql->judge($sql);
        if ($judgement & Sql::RECALLS) {
            if ($entry->ran !== $entry->lease || \preg_match('/last_insert_id|identity|lastval|currval|previous/i', $sql) !== 0) {
                $this->forgetEarlier($entry);
            }
            $this->pool->resetAlways();
        }
        if ($judgement & Sql::LASTS) {
            $entry->evictReason ??= 'setting';
        }
        if ($judgement === Sql::SETTLES && $this->driverName === 'pgsql') {
            $entry->unsettled = $entry->lease;
        }

        return $judgement & (Sql::CHANGES | Sql::WRITES);
    }

    /** If this lease has written nothing yet, makes the session forget the ids of an earlier lease. */
    public function forgetEarlier(Entry $entry): void
    {
        if ($entry->wrote !== $entry->lease && $entry->forgot !== $entry->lease) {
            $entry->forgot = $entry->lease;
            match ($this->driverName) {
                // FOUND_ROWS() too, unless it is already of this lease.
                'mysql' => $entry->connection->exec('DO LAST_INSERT_ID(0)' . ($entry->ran === $entry->lease ? '' : ', (SELECT 1 FROM DUAL WHERE 0)')),
                'pgsql' => $entry->connection->exec('DISCARD SEQUENCES'),
                default => null,
            };
        }
    }

    /** Notes whether a transaction is open, while the connection can tell. */
    public function noteTransaction(Entry $entry): void
    {
        if ($entry->evictReason !== 'broken') {
            $entry->begun = $entry->connection->inTransaction() ? $entry->lease : -1;
            $entry->unsettled = -1;
        }
    }

    /** Makes a new connection's statements instances of the class that knows its lease. */
    public function adopt(Entry $entry): void
    {
        $entry->watched = true;
        $class = $entry->connection->getAttribute(\PDO::ATTR_STATEMENT_CLASS);
        if ($class === null || $class[0] === \PDOStatement::class) {
            $entry->connection->setAttribute(\PDO::ATTR_STATEMENT_CLASS, [Statement::class]);
        }
        $this->mindStatementClass($entry, $class[0] ?? \PDOStatement::class);
    }

    /** A statement of another class does not know its lease, and could run in another task's: then it is lent only once. */
    public function mindStatementClass(Entry $entry, string $class): void
    {
        if ($class !== \PDOStatement::class && !\is_a($class, Statement::class, true)) {
            $entry->evictReason ??= 'statement class';
        }
    }

    /** Returns the value to restore; null if it cannot be read: then the connection is replaced after this lease. */
    public static function attributeOf(\PDO $pdo, int $attribute): mixed
    {
        try {
            return @$pdo->getAttribute($attribute);
        } catch (\PDOException) {
            return null;
        }
    }
}
