<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * Connections of ext/pgsql. Their queries are not seen, so each connection is reset after each lease.
 *
 * @internal
 */
final class PgsqlDriver implements Driver
{
    /** The statements that reset a session, null = not learnt yet. */
    private ?string $reset = null;

    public function __construct(private readonly bool $transactionOnly)
    {
    }

    public function adopt(Entry $entry): void
    {
        $link = self::link($entry);
        $entry->session = \pg_get_pid($link);
        if (!$this->transactionOnly) {
            $this->reset ??= PostgresqlSession::learn(
                static fn (string $sql): array => \pg_fetch_all(self::query($link, $sql), \PGSQL_NUM),
                static fn (string $sql): mixed => self::query($link, $sql),
                static fn (string $text): string => (string) \pg_escape_literal($link, $text),
                $entry->settings,
            );
        }
        $this->remember($entry);
    }

    private static function query(\PgSql\Connection $link, string $sql): \PgSql\Result
    {
        $result = @\pg_query($link, $sql);

        return $result === false ? throw new \RuntimeException(\pg_last_error($link)) : $result;
    }

    public function remember(Entry $entry): void
    {
        $entry->client = Internal\clientState($entry->connection);
    }

    public function isClosed(Entry $entry): bool
    {
        $link = self::link($entry);
        if (\pg_connection_status($link) !== \PGSQL_CONNECTION_OK) {
            return true;
        }
        $socket = \pg_socket($link);
        [$read, $none] = [[$socket], []];
        // Unasked input may be a disconnect, or a changed setting: only a query shows whether the connection works.
        $entry->suspect = $socket === false || \stream_select($read, $none, $none, 0) !== 0;

        return false;
    }

    public function check(Entry $entry): bool
    {
        return @\pg_query(self::link($entry), 'SELECT 1') !== false;
    }

    public function holdsState(Entry $entry): bool
    {
        return $entry->resigned !== $entry->lease && \pg_transaction_status(self::link($entry)) !== \PGSQL_TRANSACTION_IDLE;
    }

    public function needsReset(Entry $entry): bool
    {
        // Now, because the request that ends closes the file to which libpq writes.
        \pg_untrace(self::link($entry));

        return !$this->transactionOnly || \pg_transaction_status(self::link($entry)) !== \PGSQL_TRANSACTION_IDLE;
    }

    public function reset(Entry $entry): bool
    {
        $link = self::link($entry);
        $status = \pg_transaction_status($link);
        if (\pg_connection_status($link) !== \PGSQL_CONNECTION_OK || @\pg_connection_busy($link) || $status === \PGSQL_TRANSACTION_ACTIVE || $status === \PGSQL_TRANSACTION_UNKNOWN) {
            throw new \RuntimeException('the connection is closed, or in the middle of a query');
        }
        $open = $status !== \PGSQL_TRANSACTION_IDLE;
        if (!$this->transactionOnly || $open) {
            self::query($link, ($open ? 'ROLLBACK; ' : '') . ($this->transactionOnly ? '' : $this->reset . PostgresqlSession::reseed()));
        }
        self::resetClient($entry, $link);

        return $open;
    }

    /** Restores what libpq and the extension keep beside the session. */
    private static function resetClient(Entry $entry, \PgSql\Connection $link): void
    {
        if ($entry->client !== Internal\clientState($link)) {
            throw new \RuntimeException('pg_connection_reset() has replaced the connection');
        }
        \pg_set_error_verbosity($link, \PGSQL_ERRORS_DEFAULT);
        if (\function_exists('pg_set_error_context_visibility')) {
            \pg_set_error_context_visibility($link, \PGSQL_SHOW_CONTEXT_ERRORS);
        }
        // UNLISTEN leaves the notifications that have arrived. Not `!== false`: opcache takes that for true, because its list of
        // functions has no false for this one.
        while (\pg_get_notify($link));
        \pg_last_notice($link, \PGSQL_NOTICE_CLEAR);
    }

    /** Closes it explicitly, because the extension keeps a connection beyond all variables that hold it. */
    public function disconnect(object $connection): bool
    {
        \assert($connection instanceof \PgSql\Connection);
        if (Internal\isInUse($connection)) {
            // To free it under a call that waits is refused.
            return Internal\disconnect($connection);
        }
        \pg_close($connection);

        return true;
    }

    public function hasLeft(object $connection): bool
    {
        return true;
    }

    public function cancel(object $connection, int $session): void
    {
        \assert($connection instanceof \PgSql\Connection);
        @\pg_query($connection, "SELECT pg_catalog.pg_cancel_backend($session)");
    }

    public function isBroken(\Throwable $error): bool
    {
        return false;
    }

    private static function link(Entry $entry): \PgSql\Connection
    {
        \assert($entry->connection instanceof \PgSql\Connection);

        return $entry->connection;
    }
}
