<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * Connections of PDO, to MySQL or MariaDB, PostgreSQL, or anything else.
 *
 * What a session was given by the pool's factory (time zone, SQL mode, …) is learnt once and given again after each reset.
 *
 * @internal
 */
final class PdoDriver implements Driver
{
    private const LEARN_MYSQL = 'SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES';
    private const LEARN_MYSQL8 = 'SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.session_variables';
    private const LEARN_PGSQL = "SELECT name, setting FROM pg_settings WHERE source = 'session'";

    /** Session variables of MySQL that change by themselves, or that cannot be set. */
    private const NOT_STATE = '/^(timestamp|insert_id|last_insert_id|rand_seed\d|gtid_.*|identity|warning_count|error_count|pseudo_thread_id'
        . '|last_gtid|in_transaction|in_predicate.*|proxy_user|external_user|tx_.*read_only.*|skip_replication|rand_.*)$/i';

    /** @var array<string>|null what to run after a reset, null = not learnt yet */
    private ?array $again = null;

    /** SQLite's driver knows only of transactions that were begun with beginTransaction(), until PHP 8.4. */
    private readonly bool $beginsUnseen;

    /** Whether there is a session whose state is reset. */
    private readonly bool $hasSession;

    /** @param bool $transactionOnly roll back what is open, and leave the session's state alone */
    public function __construct(private readonly string $name, private readonly bool $transactionOnly)
    {
        $this->beginsUnseen = $name === 'sqlite';
        $this->hasSession = !$transactionOnly && ($name === 'mysql' || $name === 'pgsql');
    }

    public function adopt(Entry $entry): void
    {
        $pdo = self::pdo($entry);
        if ($pdo->getAttribute(\PDO::ATTR_PERSISTENT)) {
            throw new \LogicException('a pool cannot hold persistent connections (PDO::ATTR_PERSISTENT): two tasks would share one');
        }
        $entry->statementsUseIt = $this->statementsUseConnection($pdo);
        if ($this->transactionOnly || $this->again !== null) {
            return;
        }
        $this->again = match ($this->name) {
            'mysql' => \function_exists('Hearth\Internal\mysqlReset') ? $this->learnMysql($pdo) : [],
            'pgsql' => $this->learnPgsql($pdo),
            default => [],
        };
    }

    /** Whether a statement of such a connection talks to the server when it dies. */
    public function statementsUseConnection(\PDO $pdo): bool
    {
        if ($this->name !== 'mysql') {
            return true;
        }

        return !$pdo->getAttribute(\PDO::ATTR_EMULATE_PREPARES) || !$pdo->getAttribute(\PDO::MYSQL_ATTR_USE_BUFFERED_QUERY);
    }

    public function isClosed(Entry $entry): bool
    {
        return $this->name === 'mysql' && \function_exists('Hearth\Internal\hasInput') && Internal\hasInput($entry->connection);
    }

    public function check(Entry $entry): bool
    {
        return match ($this->name) {
            'mysql' => self::pdo($entry)->query('DO 1') !== false,
            'pgsql' => self::pdo($entry)->query('SELECT 1') !== false,
            default => true,
        };
    }

    public function holdsState(Entry $entry): bool
    {
        return $entry->dirty || $entry->attributes !== [] || $this->holdsTransaction($entry);
    }

    /**
     * Whether a transaction was open when the connection broke, of which its task does not know yet that it is lost.
     *
     * PostgreSQL's driver says of each broken connection that it is in a transaction (PQTRANS_UNKNOWN); others say what was last known.
     */
    public function holdsTransaction(Entry $entry): bool
    {
        if ($entry->resigned === $entry->lease) {
            return false;
        }
        if ($this->name === 'pgsql') {
            return $entry->begun === $entry->lease || $entry->unsettled === $entry->lease;
        }

        return self::pdo($entry)->inTransaction();
    }

    public function needsReset(Entry $entry): bool
    {
        return (($this->hasSession || $this->beginsUnseen) && ($entry->dirty || !$entry->watched))
            || $entry->attributes !== [] || $entry->connection->inTransaction();
    }

    public function reset(Entry $entry): bool
    {
        $pdo = self::pdo($entry);
        $open = $pdo->inTransaction();
        if ($open) {
            $this->must($pdo->rollBack());
        } elseif ($this->beginsUnseen && ($entry->dirty || !$entry->watched)) {
            $open = self::rollBackUnseen($pdo);
        }
        foreach ($entry->attributes as $attribute => $value) {
            $this->must($pdo->setAttribute($attribute, $value));
        }
        $entry->attributes = [];
        if (!$this->transactionOnly && (!$entry->watched || $entry->dirty)) {
            $this->resetSession($entry, $pdo);
        }

        return $open;
    }

    /** Whether there was a transaction, though PDO knows of none. */
    private static function rollBackUnseen(\PDO $pdo): bool
    {
        try {
            return @$pdo->exec('ROLLBACK') !== false;
        } catch (\PDOException) {
            return false;
        }
    }

    private function resetSession(Entry $entry, \PDO $pdo): void
    {
        if ($this->name === 'pgsql') {
            $this->must($pdo->exec('DISCARD ALL') !== false);
        } elseif ($this->name === 'mysql') {
            if (!\function_exists('Hearth\Internal\mysqlReset')) {
                // Without the server's help the session cannot be reset, only replaced, if its state is known to have changed.
                $this->must(!$entry->watched);

                return;
            }
            $this->must(Internal\mysqlReset($pdo));
        } else {
            return;
        }
        $this->run($pdo, $this->again ?? []);
    }

    /** @param array<string> $statements */
    private function run(\PDO $pdo, array $statements): void
    {
        foreach ($statements as $statement) {
            $this->must($pdo->exec($statement) !== false);
        }
    }

    private function must(bool $succeeded): void
    {
        if (!$succeeded) {
            throw new \RuntimeException('the session could not be reset');
        }
    }

    public function disconnect(object $connection): bool
    {
        \assert($connection instanceof \PDO);
        if ($this->beginsUnseen) {
            // SQLite's locks are of a transaction.
            self::rollBackUnseen($connection);
        }

        return \function_exists('Hearth\Internal\disconnect') && Internal\disconnect($connection);
    }

    public function hasLeft(object $connection): bool
    {
        return Internal\hasLeft($connection);
    }

    public function isBroken(\Throwable $error): bool
    {
        if (!$error instanceof \PDOException) {
            return $error instanceof \Hearth\CancelledError || $error instanceof \Hearth\TimeoutError;
        }
        $state = (string) ($error->errorInfo[0] ?? $error->getCode());
        $code = $error->errorInfo[1] ?? 0;
        if (\str_starts_with($state, '08') || \in_array($state, ['57P01', '57P02', '57P03', '57P05', '25P03', '01002'], true)) {
            return true;
        }
        if ($this->name === 'mysql') {
            return \in_array($code, [2002, 2003, 2006, 2012, 2013, 2014, 2055, 1053, 1927, 1152, 1159, 1160, 1161, 1184, 4031], true);
        }

        return $this->name === 'pgsql' && \preg_match(
            '/no connection to the server|server closed the connection|terminating connection|SSL SYSCALL|SSL connection has been closed'
            . '|could not (receive|send) data|lost synchronization|another command is already in progress/',
            $error->getMessage(),
        ) === 1;
    }

    /**
     * What makes a connection that was reset like one of the factory: the session variables in which they differ, and the database.
     *
     * @return list<string>
     */
    private function learnMysql(\PDO $pdo): array
    {
        $mine = $this->mysqlVariables($pdo);
        $this->must(Internal\mysqlReset($pdo));
        $settings = [];
        foreach (\array_diff_assoc($mine, $this->mysqlVariables($pdo)) as $name => $value) {
            if (\preg_match(self::NOT_STATE, $name) === 0) {
                $settings[] = "SESSION `$name` = " . (\is_numeric($value) || $value === null ? $value ?? 'NULL' : $pdo->quote($value));
            }
        }
        $database = $pdo->query('SELECT DATABASE()')->fetchColumn();
        $again = \array_filter([
            $settings === [] ? '' : 'SET ' . \implode(', ', $settings),
            // A reset leaves the session in the database it has gone to.
            \is_string($database) ? 'USE `' . \strtr($database, ['`' => '``']) . '`' : '',
        ]);
        $this->run($pdo, $again);

        return $again;
    }

    /** @return array<string, string|null> */
    private function mysqlVariables(\PDO $pdo): array
    {
        $maria = \stripos((string) $pdo->getAttribute(\PDO::ATTR_SERVER_VERSION), 'maria') !== false;
        $statement = $pdo->query($maria ? self::LEARN_MYSQL : self::LEARN_MYSQL8);

        return $statement === false ? [] : $statement->fetchAll(\PDO::FETCH_KEY_PAIR);
    }

    /** @return list<string> */
    private function learnPgsql(\PDO $pdo): array
    {
        $settings = [];
        foreach ($pdo->query(self::LEARN_PGSQL)->fetchAll(\PDO::FETCH_KEY_PAIR) as $name => $value) {
            $settings[] = 'pg_catalog.set_config(' . $pdo->quote($name) . ', ' . $pdo->quote($value) . ', false)';
        }

        return $settings === [] ? [] : ['SELECT ' . \implode(', ', $settings)];
    }

    private static function pdo(Entry $entry): \PDO
    {
        \assert($entry->connection instanceof \PDO);

        return $entry->connection;
    }
}
