<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The visible state of an SQLite connection. There is no reset: if this state has changed, the connection is closed.
 *
 * @internal
 */
final class SqliteSession
{
    private const PRAGMAS = ['foreign_keys', 'recursive_triggers', 'busy_timeout', 'cache_size', 'synchronous', 'temp_store', 'query_only',
        'read_uncommitted', 'locking_mode', 'ignore_check_constraints', 'defer_foreign_keys', 'reverse_unordered_selects', 'writable_schema'];

    public static function fingerprint(\PDO $pdo): string
    {
        $columns = ['(SELECT group_concat(name || file) FROM pragma_database_list WHERE name <> \'temp\')', '(SELECT group_concat(name) FROM sqlite_temp_master)',
            '(SELECT COUNT(*) FROM pragma_function_list)', '(SELECT COUNT(*) FROM pragma_collation_list)'];
        foreach (self::PRAGMAS as $name) {
            $columns[] = "(SELECT * FROM pragma_$name)";
        }
        // With PDO's own class, because a statement of the pool's class belongs to a lease.
        $statement = $pdo->prepare('SELECT ' . \implode(', ', $columns), [\PDO::ATTR_STATEMENT_CLASS => [\PDOStatement::class]]);
        if ($statement === false || !$statement->execute()) {
            throw PdoDriver::silentError($pdo->errorInfo());
        }

        return \json_encode($statement->fetchAll(\PDO::FETCH_NUM), \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE);
    }
}
