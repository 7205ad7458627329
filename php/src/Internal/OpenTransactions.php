<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Transactions that a request has begun beside its framework, on the framework's own connection: by `BEGIN`, or on the object of
 * the extension. The framework does not know of them, and the next request would be inside.
 *
 * @internal
 */
final class OpenTransactions
{
    /** @return bool whether there was one that is rolled back; of mysqli, which is not told by its server, false */
    public static function rollBack(mixed $native): bool
    {
        return match (true) {
            $native instanceof \PDO => self::ofPdo($native),
            $native instanceof \PgSql\Connection => \pg_transaction_status($native) !== \PGSQL_TRANSACTION_IDLE
                && \pg_query($native, 'ROLLBACK') !== false,
            $native instanceof \mysqli => $native->rollback() && false,
            $native instanceof \SQLite3 => self::ofSqlite($native),
            default => false,
        };
    }

    private static function ofPdo(\PDO $pdo): bool
    {
        if ($pdo->inTransaction()) {
            return $pdo->rollBack();
        }

        // Before PHP 8.4 this driver knows of its own method's transactions only.
        return $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME) === 'sqlite' && self::ofSqlite($pdo);
    }

    /** Where none is open, there is an error of SQLite's. */
    private static function ofSqlite(\PDO|\SQLite3 $sqlite): bool
    {
        try {
            return @$sqlite->exec('ROLLBACK') !== false;
        } catch (\Exception) {
            return false;
        }
    }
}
