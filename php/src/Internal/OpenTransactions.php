<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Transactions that a request has begun behind its framework's back, on the framework's own connection: by `BEGIN`, or on
 * the object of the extension. The framework does not know of them, and the next request would be inside them.
 *
 * @internal
 */
final class OpenTransactions
{
    /** @return bool whether a transaction was rolled back; always false for mysqli, whose server does not report it */
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

        // Before PHP 8.4, inTransaction() of this driver only knows of transactions of beginTransaction().
        return $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME) === 'sqlite' && self::ofSqlite($pdo);
    }

    /** Without an open transaction, SQLite returns an error. */
    private static function ofSqlite(\PDO|\SQLite3 $sqlite): bool
    {
        try {
            return @$sqlite->exec('ROLLBACK') !== false;
        } catch (\Exception) {
            return false;
        }
    }
}
