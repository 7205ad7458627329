<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * Connections of mysqli. Their queries are not seen, so each connection is reset after each lease.
 *
 * @internal
 */
final class MysqliDriver implements Driver
{
    private const BROKEN = [1053, 1152, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2012, 2013, 2055, 4031];

    /** @var list<string>|null statements to run after a session was reset, null = not learnt yet */
    private ?array $again = null;

    public function __construct(private readonly bool $transactionOnly)
    {
    }

    public function adopt(Entry $entry): void
    {
        $mysqli = self::mysqli($entry);
        $entry->session = (int) $mysqli->thread_id;
        $entry->memo = $mysqli->character_set_name();
        if (!$this->transactionOnly && \function_exists('Hearth\Internal\mysqlReset')) {
            $this->again ??= self::withoutIndexReports(static fn (): array => MysqlSession::learn(
                $mysqli,
                static fn (string $sql): array => self::done($mysqli, $mysqli->query($sql))->fetch_all(\MYSQLI_NUM),
                static fn (string $sql): mixed => self::done($mysqli, $mysqli->query($sql)),
                static fn (string $text): string => "'" . $mysqli->real_escape_string($text) . "'",
            ));
        }
        $this->remember($entry);
    }

    /**
     * Calls $query without MYSQLI_REPORT_INDEX, because tables of the server's variables have no index.
     *
     * @param \Closure(): list<string> $query
     * @return list<string>
     */
    private static function withoutIndexReports(\Closure $query): array
    {
        $driver = new \mysqli_driver();
        if (($driver->report_mode & \MYSQLI_REPORT_INDEX) === 0) {
            return $query();
        }
        \mysqli_report($driver->report_mode & ~\MYSQLI_REPORT_INDEX);
        try {
            return $query();
        } finally {
            // Another task of the request may have changed the others meanwhile.
            \mysqli_report($driver->report_mode | \MYSQLI_REPORT_INDEX);
        }
    }

    /** Returns the result of a query; a failure becomes an exception, also with MYSQLI_REPORT_OFF. */
    private static function done(\mysqli $mysqli, \mysqli_result|bool $result): \mysqli_result|bool
    {
        return $result === false ? throw new \RuntimeException($mysqli->error) : $result;
    }

    public function remember(Entry $entry): void
    {
        $entry->client = Internal\clientState($entry->connection);
    }

    public function isClosed(Entry $entry): bool
    {
        return \function_exists('Hearth\Internal\hasInput') && Internal\hasInput($entry->connection);
    }

    public function check(Entry $entry): bool
    {
        return self::mysqli($entry)->query('DO 1') !== false;
    }

    public function holdsState(Entry $entry): bool
    {
        return true;
    }

    public function needsReset(Entry $entry): bool
    {
        return true;
    }

    public function reset(Entry $entry): bool
    {
        $mysqli = self::mysqli($entry);
        if ($this->transactionOnly) {
            $this->must($mysqli->rollback());

            return false;
        }
        // Without the server's function a session cannot be reset, only replaced; the server keeps the user of change_user().
        $this->must($this->again !== null && $entry->client === Internal\clientState($mysqli));
        if ($mysqli->character_set_name() !== $entry->memo) {
            // real_escape_string() must escape for the character set that the session will have.
            $this->must($mysqli->set_charset($entry->memo));
        }
        $this->must(Internal\mysqlReset($mysqli, $this->again));

        return false;
    }

    private function must(bool $succeeded): void
    {
        if (!$succeeded) {
            throw new \RuntimeException('the session could not be reset');
        }
    }

    public function disconnect(object $connection): bool
    {
        return \function_exists('Hearth\Internal\disconnect') && Internal\disconnect($connection);
    }

    public function hasLeft(object $connection): bool
    {
        return Internal\hasLeft($connection);
    }

    public function cancel(object $connection, int $session): void
    {
        \assert($connection instanceof \mysqli);
        $connection->query("KILL QUERY $session");
    }

    public function isBroken(\Throwable $error): bool
    {
        return $error instanceof \mysqli_sql_exception && \in_array($error->getCode(), self::BROKEN, true);
    }

    private static function mysqli(Entry $entry): \mysqli
    {
        \assert($entry->connection instanceof \mysqli);

        return $entry->connection;
    }
}
