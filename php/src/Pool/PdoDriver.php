<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * Connections of PDO, to MySQL or MariaDB, PostgreSQL, or another database.
 *
 * The state that the pool's factory gives to a session (time zone, SQL mode, …) is learnt once and
 * restored after each reset.
 *
 * @internal
 */
final class PdoDriver implements Driver
{
    /** Attributes that can be read and set again, besides those of the driver. */
    private const ATTRIBUTES = [\PDO::ATTR_ERRMODE, \PDO::ATTR_CASE, \PDO::ATTR_ORACLE_NULLS, \PDO::ATTR_STRINGIFY_FETCHES, \PDO::ATTR_DEFAULT_FETCH_MODE,
        \PDO::ATTR_STATEMENT_CLASS];

    /** @var list<string>|string|null statements that reset a session; for MySQL those after its own reset; null = unknown */
    private array|string|null $again = null;

    /** Whether the app asks for what a session remembers of earlier statements: the last inserted id, warnings. */
    public bool $resetsAlways = false;

    /** @var list<int> attributes that can be read of such a connection */
    private array $readable = [];

    /** Whether inTransaction() only knows of transactions of beginTransaction(): SQLite's driver before PHP 8.4. */
    private readonly bool $beginsUnseen;

    /** Whether there is a session whose state is reset. */
    private readonly bool $hasSession;

    /** Whether a connection that may have changed is closed, because its driver is one whose sessions the pool cannot reset. */
    private readonly bool $closes;

    /** @param bool $transactionOnly roll back open transactions, and leave the session's state alone */
    public function __construct(private readonly string $name, private readonly bool $transactionOnly)
    {
        $this->beginsUnseen = $name === 'sqlite';
        $this->hasSession = !$transactionOnly && ($name === 'mysql' || $name === 'pgsql');
        $this->closes = !$transactionOnly && !\in_array($name, ['mysql', 'pgsql', 'sqlite'], true);
    }

    public function adopt(Entry $entry): void
    {
        $pdo = self::pdo($entry);
        if ($pdo->getAttribute(\PDO::ATTR_PERSISTENT)) {
            throw new \LogicException('a pool cannot hold persistent connections (PDO::ATTR_PERSISTENT): two tasks would share one');
        }
        $entry->statementsUseIt = $this->statementsUseConnection($pdo);
        $entry->session = $this->numberOf($pdo);
        if ($this->transactionOnly) {
            return;
        }
        if ($this->again === null) {
            $this->readable = \array_keys($this->readAttributes($pdo, [...self::ATTRIBUTES, ...$this->attributesOfDriver()]));
            $this->again = match ($this->name) {
                'mysql' => \function_exists('Hearth\Internal\mysqlReset') ? MysqlSession::learn($pdo, self::rows($pdo), $this->run($pdo), $pdo->quote(...)) : [],
                'pgsql' => PostgresqlSession::learn(self::rows($pdo), $this->run($pdo), $pdo->quote(...), $entry->settings),
                default => '',
            };
        }
        $entry->memo = [$this->readAttributes($pdo, $this->readable), ''];
        $this->remember($entry);
    }

    public function remember(Entry $entry): void
    {
        $entry->client = Internal\clientState($entry->connection);
        if ($this->name === 'sqlite' && !$this->transactionOnly) {
            $entry->memo[1] = SqliteSession::fingerprint(self::pdo($entry));
        }
    }

    /** @return list<int> */
    private function attributesOfDriver(): array
    {
        return match ($this->name) {
            'mysql' => [\PDO::ATTR_AUTOCOMMIT, \PDO::ATTR_EMULATE_PREPARES, \PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, \PDO::ATTR_DEFAULT_STR_PARAM],
            'pgsql' => [\PDO::ATTR_EMULATE_PREPARES, \PDO::PGSQL_ATTR_DISABLE_PREPARES],
            default => [],
        };
    }

    /**
     * @param list<int> $attributes
     * @return array<int, mixed> without those that cannot be read
     */
    private function readAttributes(\PDO $pdo, array $attributes): array
    {
        $values = [];
        foreach ($attributes as $attribute) {
            try {
                $value = @$pdo->getAttribute($attribute);
                if ($value !== null) {
                    $values[$attribute] = $value;
                }
            } catch (\PDOException) {
            }
        }

        return $values;
    }

    /** Returns the number by which the server can be told to cancel this connection's query; 0: none. */
    private function numberOf(\PDO $pdo): int
    {
        return match (true) {
            $this->name === 'mysql' && \function_exists('Hearth\Internal\mysqlThread') => Internal\mysqlThread($pdo),
            $this->name === 'pgsql' && \method_exists($pdo, 'getPid') => $pdo->getPid(),
            $this->name === 'pgsql' => $pdo->pgsqlGetPid(),
            default => 0,
        };
    }

    /** @return \Closure(string): list<list<?string>> */
    private static function rows(\PDO $pdo): \Closure
    {
        return static function (string $sql) use ($pdo): array {
            $statement = $pdo->query($sql, \PDO::FETCH_NUM);

            return $statement === false ? throw self::silentError($pdo->errorInfo()) : $statement->fetchAll(\PDO::FETCH_NUM);
        };
    }

    /** @return \Closure(string): void */
    private function run(\PDO $pdo): \Closure
    {
        return static function (string $sql) use ($pdo): void {
            $pdo->exec($sql) !== false || throw self::silentError($pdo->errorInfo());
        };
    }

    /** Whether a statement of such a connection talks to the server when it is freed. */
    public function statementsUseConnection(\PDO $pdo): bool
    {
        if ($this->name !== 'mysql') {
            return true;
        }

        return !$pdo->getAttribute(\PDO::ATTR_EMULATE_PREPARES) || !$pdo->getAttribute(\PDO::MYSQL_ATTR_USE_BUFFERED_QUERY);
    }

    public function isClosed(Entry $entry): bool
    {
        if (!\function_exists('Hearth\Internal\hasInput') || !Internal\hasInput($entry->connection)) {
            return false;
        }
        // PostgreSQL also reports changed settings unasked: only a query shows whether the connection works.
        $entry->suspect = $this->name === 'pgsql';

        return !$entry->suspect;
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
        return $entry->resigned !== $entry->lease && ($entry->dirty || $this->holdsTransaction($entry));
    }

    /**
     * Whether a transaction was open when the connection broke, and its task does not know yet that it is lost.
     *
     * PostgreSQL's driver reports every broken connection as in a transaction (PQTRANS_UNKNOWN); others
     * report the last known state.
     */
    public function holdsTransaction(Entry $entry): bool
    {
        if ($entry->resigned === $entry->lease) {
            return false;
        }
        if ($this->name === 'pgsql' && $entry->watched) {
            return $entry->begun === $entry->lease || $entry->unsettled === $entry->lease;
        }

        return self::pdo($entry)->inTransaction();
    }

    public function needsReset(Entry $entry): bool
    {
        return (($this->hasSession || $this->beginsUnseen || $this->closes) && $this->isUnknown($entry))
            || $entry->attributes !== [] || $entry->connection->inTransaction();
    }

    /** Whether the session may be in another state than a new session. */
    private function isUnknown(Entry $entry): bool
    {
        return $entry->dirty || !$entry->watched || $this->resetsAlways;
    }

    public function reset(Entry $entry): bool
    {
        $pdo = self::pdo($entry);
        $open = $pdo->inTransaction();
        $all = !$this->transactionOnly && $this->isUnknown($entry);
        // The reset of a session rolls back, too.
        if ($open && !($all && $this->hasSession && \is_array($this->again))) {
            $this->must($pdo->rollBack());
        } elseif ($this->beginsUnseen && ($entry->dirty || !$entry->watched)) {
            $open = self::rollBackUnseen($pdo) || $open;
        }
        if ($this->beginsUnseen && !$entry->watched) {
            // A statement with rows left keeps the state of the database that it reads: the next lease would read that, and could not write.
            $this->must(Internal\closeCursors($pdo), 'a statement with rows that were not read');
        }
        if ($all) {
            $this->resetSession($entry, $pdo);
        }
        $this->resetAttributes($entry, $pdo);
        if ($all) {
            $this->must($entry->client === Internal\clientState($pdo), 'an option or a function of the client');
        }
        // Clears the error of the last call, which errorInfo() would return.
        @$pdo->getAttribute(\PDO::ATTR_ERRMODE);

        return $open;
    }

    /** Restores the attributes. For a connection whose calls are not seen, all readable attributes are compared. */
    private function resetAttributes(Entry $entry, \PDO $pdo): void
    {
        $changed = $entry->attributes;
        if (!$entry->watched && !$this->transactionOnly) {
            $now = $this->readAttributes($pdo, $this->readable);
            $changed = \array_filter($entry->memo[0], static fn (mixed $value, int $attribute) => $value !== ($now[$attribute] ?? null), \ARRAY_FILTER_USE_BOTH);
        }
        foreach ($changed as $attribute => $value) {
            $this->must($pdo->setAttribute($attribute, $value));
        }
        $entry->attributes = [];
    }

    /** Rolls back; returns whether there was a transaction, though PDO knows of none. */
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
        match ($this->name) {
            'pgsql' => $this->resetPgsql($pdo),
            'mysql' => $this->resetMysql($entry, $pdo),
            'sqlite' => $this->resetSqlite($entry, $pdo),
            default => throw new \RuntimeException("the pool cannot reset a session of PDO's driver \"$this->name\": give it a callable as `reset`, "
                . "or 'transaction' or 'none' if no code changes the session"),
        };
    }

    private function resetSqlite(Entry $entry, \PDO $pdo): void
    {
        $this->must($entry->memo[1] === SqliteSession::fingerprint($pdo), 'a PRAGMA, ATTACH, temporary table or function');
        $this->must(!$this->resetsAlways || !SqliteSession::hasWritten($pdo), 'a number of changed rows');
    }

    private function resetPgsql(\PDO $pdo): void
    {
        $this->must($pdo->exec($this->again . PostgresqlSession::reseed()) !== false);
        // PDO's own class in PHP 8.4 and its subclass have one of these, and the subclass a callback.
        $notify = \method_exists($pdo, 'getNotify') ? $pdo->getNotify(...) : $pdo->pgsqlGetNotify(...);
        while ($notify(\PDO::FETCH_NUM, 0));
        if (\method_exists($pdo, 'setNoticeCallback')) {
            $pdo->setNoticeCallback(null);
        }
    }

    private function resetMysql(Entry $entry, \PDO $pdo): void
    {
        if (!\function_exists('Hearth\Internal\mysqlReset')) {
            // Without the server's function the session cannot be reset, only replaced, if its state
            // is known to have changed.
            $this->must(!$entry->watched);
            if ($pdo->inTransaction()) {
                $this->must($pdo->rollBack());
            }

            return;
        }
        $this->must(Internal\mysqlReset($pdo, $this->again));
    }

    private function must(bool $succeeded, string $left = ''): void
    {
        if (!$succeeded) {
            throw new \RuntimeException('the session could not be reset' . ($left === '' ? '' : ": $left was left in it"));
        }
    }

    public function disconnect(object $connection): bool
    {
        \assert($connection instanceof \PDO);
        if ($this->beginsUnseen) {
            // SQLite's locks belong to a transaction.
            self::rollBackUnseen($connection);
        }

        return \function_exists('Hearth\Internal\disconnect') && Internal\disconnect($connection);
    }

    public function hasLeft(object $connection): bool
    {
        return Internal\hasLeft($connection);
    }

    public function cancel(object $connection, int $session): void
    {
        \assert($connection instanceof \PDO);
        match ($this->name) {
            'mysql' => $connection->exec("KILL QUERY $session"),
            'pgsql' => $connection->exec("SELECT pg_catalog.pg_cancel_backend($session)"),
            default => null,
        };
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
            return \in_array($code, [2002, 2003, 2006, 2012, 2013, 2055, 1053, 1927, 1152, 1159, 1160, 1161, 1184, 4031], true);
        }

        return $this->name === 'pgsql' && \preg_match(
            '/no connection to the server|server closed the connection|terminating connection|SSL SYSCALL|SSL connection has been closed'
            . '|could not (receive|send) data|lost synchronization|another command is already in progress/',
            $error->getMessage(),
        ) === 1;
    }

    private static function pdo(Entry $entry): \PDO
    {
        \assert($entry->connection instanceof \PDO);

        return $entry->connection;
    }

    /**
     * Returns the exception that PDO::ERRMODE_EXCEPTION would have thrown.
     *
     * @param array{0: ?string, 1?: mixed, 2?: ?string} $info
     */
    public static function silentError(array $info): \PDOException
    {
        $error = new \PDOException((string) ($info[2] ?? ''));
        $error->errorInfo = $info;

        return $error;
    }
}
