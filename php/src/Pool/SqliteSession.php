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
    /** Settings of a connection that can be read. */
    public const PRAGMAS = ['foreign_keys', 'recursive_triggers', 'busy_timeout', 'cache_size', 'synchronous', 'temp_store', 'query_only',
        'read_uncommitted', 'locking_mode', 'ignore_check_constraints', 'defer_foreign_keys', 'reverse_unordered_selects', 'writable_schema',
        'full_column_names', 'short_column_names', 'empty_result_callbacks', 'count_changes', 'max_page_count', 'journal_mode', 'cache_spill',
        'automatic_index', 'cell_size_check', 'checkpoint_fullfsync', 'fullfsync', 'legacy_alter_table', 'trusted_schema', 'mmap_size', 'threads',
        'wal_autocheckpoint', 'analysis_limit', 'secure_delete', 'journal_size_limit'];

    /** PRAGMAs that change no setting of a connection, or one that is compared otherwise. */
    public const STATELESS = ['application_id', 'case_sensitive_like', 'collation_list', 'compile_options', 'data_version', 'database_list', 'foreign_key_check',
        'foreign_key_list', 'freelist_count', 'function_list', 'incremental_vacuum', 'index_info', 'index_list', 'index_xinfo', 'integrity_check',
        'module_list', 'optimize', 'page_count', 'pragma_list', 'quick_check', 'schema_version', 'shrink_memory', 'table_info', 'table_list', 'table_xinfo',
        'user_version', 'wal_checkpoint'];

    private const OTHERS = 'SELECT (SELECT group_concat(name || file) FROM pragma_database_list WHERE name <> \'temp\'), (SELECT group_concat(name) FROM sqlite_temp_master), '
        . '\'a\' LIKE \'A\'';

    /** What an extension adds. Functions in PHP are seen by `Internal\clientState()`, at a hundredth of the cost. */
    private const EXTENSIONS = 'SELECT (SELECT COUNT(*) FROM pragma_function_list), (SELECT COUNT(*) FROM pragma_collation_list)';

    public static function fingerprint(\PDO $pdo): string
    {
        $state = [self::rows($pdo, self::OTHERS)];
        if (\method_exists($pdo, 'loadExtension')) {
            $state[] = self::rows($pdo, self::EXTENSIONS);
        }
        foreach (self::PRAGMAS as $name) {
            // Each by itself: as one statement of table-valued functions they take three times as long.
            $state[] = self::rows($pdo, "PRAGMA $name");
        }

        return \json_encode($state, \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE);
    }

    /** Whether the connection has changed a row since it was made: `changes()` and `total_changes()` would tell. */
    public static function hasWritten(\PDO $pdo): bool
    {
        return (int) self::rows($pdo, 'SELECT total_changes()')[0][0] !== 0;
    }

    /** @return list<list<mixed>> */
    private static function rows(\PDO $pdo, string $sql): array
    {
        // With PDO's own class, because a statement of the pool's class belongs to a lease.
        $statement = $pdo->prepare($sql, [\PDO::ATTR_STATEMENT_CLASS => [\PDOStatement::class]]);
        if ($statement === false || !$statement->execute()) {
            throw PdoDriver::silentError($pdo->errorInfo());
        }

        return $statement->fetchAll(\PDO::FETCH_NUM);
    }
}
