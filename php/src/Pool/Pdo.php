<?php

declare(strict_types=1);

namespace Hearth\Pool;

if (!\class_exists(\PDO::class, false)) {
    return;
}

/**
 * A `\PDO` whose calls go to the connection that the current task has: a drop-in for code that keeps one PDO for all.
 *
 * ```php
 * $pdo = new Hearth\Pool\Pdo($dsn, $user, $password, size: 64);   // at boot; the other options are those of Pool
 * // in any request, at the same time:
 * $pdo->beginTransaction(); $pdo->exec('…'); $pdo->commit();
 * ```
 *
 * A task gets a connection with its first query and keeps it until it ends. `setAttribute()` outside a task (at boot) holds for all
 * connections; inside a task for that task's, until it ends. A statement must not be used after its task has ended.
 */
final class Pdo extends \PDO
{
    private readonly Pool $pool;
    private readonly Leases $leases;

    /** @var array<int, mixed> attributes that every connection gets */
    private array $attributes = [];

    private readonly string $driverName;

    /**
     * @param string|\Closure(): ?string|null $password a function is asked before each connection is made: for secrets that change
     * @param array<int, mixed>|null $options PDO's attributes, as for `new PDO`
     * @param mixed ...$pool options of `Pool`, by name, and `queryTimeout`: seconds after which the database ends a statement
     * @throws \ValueError on wrong options of the pool
     */
    public function __construct(
        string $dsn,
        ?string $username = null,
        #[\SensitiveParameter] string|\Closure|null $password = null,
        ?array $options = null,
        mixed ...$pool,
    ) {
        if (!empty($options[\PDO::ATTR_PERSISTENT])) {
            throw new \ValueError('PDO::ATTR_PERSISTENT cannot be used with a pool: two tasks would share one connection');
        }
        foreach (['factory', 'bindToTask', 'autoReturn'] as $option) {
            if (isset($pool[$option])) {
                throw new \ValueError("$option is no option of Hearth\\Pool\\Pdo, but of Hearth\\Pool\\Pool");
            }
        }
        $resolved = self::resolved($dsn);
        if (!\str_contains($resolved, ':')) {
            throw new \PDOException('PDO::__construct(): Argument #1 ($dsn) must be a valid data source name');
        }
        $this->driverName = \strtolower((string) \strstr($resolved, ':', true));
        if (!\in_array($this->driverName, \PDO::getAvailableDrivers(), true)) {
            throw new \PDOException("could not find driver: \"$this->driverName\", in the DSN; there are " . \implode(', ', \PDO::getAvailableDrivers()));
        }
        $attributes = &$this->attributes;
        $queryTimeout = (float) ($pool['queryTimeout'] ?? 0.0);
        unset($pool['queryTimeout']);
        $limit = self::limitOfQueries($this->driverName, $queryTimeout);
        $secret = new \SensitiveParameterValue([$dsn, $username, $password]);
        $pool['factory'] = static function () use ($secret, $options, &$attributes, $limit): \PDO {
            [$dsn, $username, $password] = $secret->getValue();
            try {
                $pdo = new \PDO($dsn, $username, $password instanceof \Closure ? $password() : $password, $attributes + ($options ?? []));
                $limit === null || $pdo->exec($limit($pdo));

                return $pdo;
            } catch (\PDOException $error) {
                throw self::withoutTrace($error);
            }
        };
        $this->pool = new Pool(...$pool);
        $this->leases = $this->pool->leases();
    }

    /**
     * Makes the statement that limits the time of queries.
     *
     * @return (\Closure(\PDO): string)|null
     */
    private static function limitOfQueries(string $driver, float $seconds): ?\Closure
    {
        if ($seconds === 0.0) {
            return null;
        }
        if (!($seconds >= 0.001) || !\in_array($driver, ['mysql', 'pgsql'], true)) {
            throw new \ValueError("queryTimeout must be 0.001 or more seconds, of a connection to MySQL, MariaDB or PostgreSQL; $seconds of $driver given");
        }
        $milliseconds = (int) \round($seconds * 1000);

        return static fn (\PDO $pdo): string => match (true) {
            $driver === 'pgsql' => "SET statement_timeout = $milliseconds",
            \stripos((string) $pdo->getAttribute(\PDO::ATTR_SERVER_VERSION), 'maria') !== false => "SET SESSION max_statement_time = $seconds",
            default => "SET SESSION max_execution_time = $milliseconds",
        };
    }

    /** The same error, without the arguments in whose trace is the address, and maybe a password. */
    private static function withoutTrace(\PDOException $error): \PDOException
    {
        $same = new \PDOException($error->getMessage());
        $same->errorInfo = $error->errorInfo;
        (new \ReflectionProperty(\PDOException::class, 'code'))->setValue($same, $error->getCode());

        return $same;
    }

    /** The DSN itself where it was given by alias (php.ini) or URI. */
    private static function resolved(string $dsn): string
    {
        if (!\str_contains($dsn, ':')) {
            return (string) (\get_cfg_var("pdo.dsn.$dsn") ?: '');
        }

        return \str_starts_with($dsn, 'uri:') ? (string) @\file_get_contents(\substr($dsn, 4)) : $dsn;
    }

    /** The pool behind it, for its statistics and its operations. */
    public function pool(): Pool
    {
        return $this->pool;
    }

    /**
     * Gives the current task's connection back before the task ends: for one that has much to do yet, without the database.
     *
     * @throws \LogicException while a transaction is open
     */
    public function release(): void
    {
        $entry = $this->pool->current();
        if ($entry !== null) {
            if ($this->inTransaction()) {
                throw new \LogicException('release() while a transaction is open');
            }
            $this->pool->giveBack($entry->connection);
        }
    }

    /** The current task's connection; the first call borrows it. */
    private function entry(): Entry
    {
        $entry = $this->leases->ofTask();
        if ($entry->doomed === 'broken') {
            $set = [];
            foreach ($entry->attributes as $attribute => $before) {
                $set[$attribute] = self::attributeOf($entry->connection, $attribute);
            }
            $entry = $this->leases->renewed($entry);
            if ($entry->doomed === 'broken') {
                // Not for PDO to say: after an interrupted question libpq takes the answer to that for the answer to the next.
                throw new \PDOException('the connection broke, and with it what this task had begun on it (a transaction, or settings of the session); '
                    . 'after rollBack() or release() the next statement gets another connection');
            }
            foreach ($set as $attribute => $value) {
                $this->setAttribute($attribute, $value);
            }
        }
        if (!$entry->watched) {
            $this->adopt($entry);
        }

        return $entry;
    }

    /** Makes a new connection's statements ones that know the loan. */
    private function adopt(Entry $entry): void
    {
        $entry->watched = true;
        $class = $entry->connection->getAttribute(\PDO::ATTR_STATEMENT_CLASS);
        if ($class === null || $class[0] === \PDOStatement::class) {
            $entry->connection->setAttribute(\PDO::ATTR_STATEMENT_CLASS, [Statement::class]);
        }
        $this->mindClass($entry, $class[0] ?? \PDOStatement::class);
    }

    /** A statement of another class does not know the loan, and could run in another task's: its connection is lent once. */
    private function mindClass(Entry $entry, string $class): void
    {
        if ($class !== \PDOStatement::class && !\is_a($class, Statement::class, true)) {
            $entry->doomed ??= 'statement class';
        }
    }

    /** Calls a method of the current task's connection, and remembers if that shows that the connection is of no more use. */
    private function call(Entry $entry, string $method, mixed ...$arguments): mixed
    {
        try {
            $result = $entry->connection->$method(...$arguments);
        } catch (\Throwable $error) {
            $this->noteFailure($entry, $error);
            throw $error;
        }
        return $result === false ? $this->refused($entry) : $result;
    }

    /** A call that failed without an exception. */
    private function refused(Entry $entry): false
    {
        $this->noteFailure($entry, self::silentError($entry->connection->errorInfo()));

        return false;
    }

    /** The connection for a statement, which may change the state of its session. */
    private function entryFor(string $sql): Entry
    {
        $entry = $this->leases->ofTask();
        if (!$entry->watched || $entry->doomed === 'broken') {
            $entry = $this->entry();
        }
        if (!$entry->dirty) {
            $entry->dirty = (Sql::$known[$sql] ?? $this->judged($entry, $sql)) || ($this->driverName === 'sqlite' && Sql::beginsTransaction($sql));
        }

        return $entry;
    }

    /** Whether a text that is not among the known ones may change the state of its session. */
    private function judged(Entry $entry, string $sql): bool
    {
        $changes = Sql::changesSession($sql);
        if (Sql::recalls($sql)) {
            $this->forget($entry);
            $this->pool->resetAlways();
        }
        if (!$changes && $this->driverName === 'pgsql' && Sql::isTransactional($sql)) {
            $entry->unsettled = $entry->lease;
        }

        return $changes;
    }

    /** Where this loan has run nothing yet, what its session remembers is of an earlier one. */
    private function forget(Entry $entry): void
    {
        if ($entry->ran !== $entry->lease) {
            match ($this->driverName) {
                'mysql' => $entry->connection->exec('DO LAST_INSERT_ID(0)'),
                'pgsql' => $entry->connection->exec('DISCARD SEQUENCES'),
                default => null,
            };
        }
    }

    /** Notes whether a transaction is open, while the connection can tell. */
    private function settle(Entry $entry): void
    {
        if ($entry->doomed !== 'broken') {
            $entry->begun = $entry->connection->inTransaction() ? $entry->lease : -1;
            $entry->unsettled = -1;
        }
    }

    /** Calls what may begin or end a transaction. */
    private function settling(Entry $entry, string $method, mixed ...$arguments): mixed
    {
        try {
            return $this->call($entry, $method, ...$arguments);
        } finally {
            if ($this->driverName === 'pgsql') {
                $this->settle($entry);
            }
        }
    }

    /** @internal a connection that is of no more use is not lent again */
    public function noteFailure(Entry $entry, \Throwable $error): void
    {
        if ($entry->doomed === null && $this->pool->driver()->isBroken($error)) {
            $entry->doomed = 'broken';
        }
    }

    /**
     * @internal what would have been thrown in PDO::ERRMODE_EXCEPTION
     * @param array{0: ?string, 1?: mixed, 2?: ?string} $info
     */
    public static function silentError(array $info): \PDOException
    {
        $error = new \PDOException((string) ($info[2] ?? ''));
        $error->errorInfo = $info;

        return $error;
    }

    public function prepare(string $query, array $options = []): \PDOStatement|false
    {
        $entry = $this->entryFor($query);
        if ($options !== []) {
            return $this->preparedWith($entry, $query, $options);
        }
        try {
            return $this->made($entry, $entry->connection->prepare($query));
        } catch (\Throwable $error) {
            $this->noteFailure($entry, $error);
            throw $error;
        }
    }

    /** @param array<int, mixed> $options any of which may be one that lets the statement talk to the server when it dies */
    private function preparedWith(Entry $entry, string $query, array $options): \PDOStatement|false
    {
        $before = $entry->statementsUseIt;
        $entry->statementsUseIt = true;
        if (isset($options[\PDO::ATTR_STATEMENT_CLASS])) {
            $this->mindClass($entry, (string) ($options[\PDO::ATTR_STATEMENT_CLASS][0] ?? ''));
        }
        try {
            return $this->made($entry, $this->call($entry, 'prepare', $query, $options));
        } finally {
            $entry->statementsUseIt = $before;
        }
    }

    public function query(string $query, ?int $fetchMode = null, mixed ...$fetchModeArgs): \PDOStatement|false
    {
        $entry = $this->entryFor($query);
        $entry->ran = $entry->lease;
        if ($fetchMode !== null) {
            return $this->made($entry, $this->call($entry, 'query', $query, $fetchMode, ...$fetchModeArgs));
        }
        try {
            return $this->made($entry, $entry->connection->query($query));
        } catch (\Throwable $error) {
            $this->noteFailure($entry, $error);
            throw $error;
        }
    }

    /** What PDO made of a query. */
    private function made(Entry $entry, \PDOStatement|false $statement): \PDOStatement|false
    {
        if ($statement instanceof Statement) {
            $statement->adopt($this, $entry);
        } elseif ($statement === false) {
            $this->refused($entry);
        }

        return $statement;
    }

    public function exec(string $statement): int|false
    {
        $entry = $this->entryFor($statement);
        $entry->ran = $entry->lease;
        if ($entry->unsettled === $entry->lease) {
            // What fails to begin a transaction begins none.
            $this->settle($entry);

            return $this->settling($entry, 'exec', $statement);
        }

        return $this->call($entry, 'exec', $statement);
    }

    public function beginTransaction(): bool
    {
        return $this->settling($this->entry(), 'beginTransaction');
    }

    public function commit(): bool
    {
        return $this->settling($this->entry(), 'commit');
    }

    /** Where the connection broke, this throws as PDO does; but then the task knows, and its next statement gets another connection. */
    public function rollBack(): bool
    {
        try {
            return $this->settling($this->entry(), 'rollBack');
        } finally {
            $entry = $this->pool->current();
            if ($entry?->doomed === 'broken') {
                $entry->resigned = $entry->lease;
            }
        }
    }

    /** A task that has no connection yet has no transaction either. */
    public function inTransaction(): bool
    {
        $entry = $this->pool->current();
        if ($entry === null) {
            return false;
        }
        $driver = $this->pool->driver();

        return $entry->doomed === 'broken' && $driver instanceof PdoDriver ? $driver->holdsTransaction($entry) : $entry->connection->inTransaction();
    }

    public function lastInsertId(?string $name = null): string|false
    {
        $entry = $this->entry();
        if ($name === null && $entry->ran !== $entry->lease && $this->driverName === 'mysql') {
            // What the connection remembers is of an earlier borrower.
            return '0';
        }
        if ($name === null && $this->driverName === 'pgsql') {
            $this->forget($entry);
        }

        return $this->call($entry, 'lastInsertId', $name);
    }

    public function quote(string $string, int $type = \PDO::PARAM_STR): string|false
    {
        return $this->entry()->connection->quote($string, $type);
    }

    public function errorCode(): ?string
    {
        return $this->pool->current()?->connection->errorCode();
    }

    public function errorInfo(): array
    {
        return $this->pool->current()?->connection->errorInfo() ?? ['', null, null];
    }

    public function getAttribute(int $attribute): mixed
    {
        if ($attribute === \PDO::ATTR_DRIVER_NAME) {
            return $this->driverName;
        }
        $entry = $this->pool->current();
        if ($entry === null && \array_key_exists($attribute, $this->attributes)) {
            return $this->attributes[$attribute];
        }
        $value = ($entry ?? $this->entry())->connection->getAttribute($attribute);

        return $attribute === \PDO::ATTR_STATEMENT_CLASS && $value[0] === Statement::class ? [\PDOStatement::class] : $value;
    }

    /** Outside a task: for all connections. Inside one: for this task's connection, until it goes back. */
    public function setAttribute(int $attribute, mixed $value): bool
    {
        if ($attribute === \PDO::ATTR_PERSISTENT) {
            return false;
        }
        if (\Hearth\Internal\taskId() === 0) {
            $this->attributes[$attribute] = $value;
            $entry = $this->pool->current();
            if ($entry === null) {
                $this->pool->recycle();

                return true;
            }
        }
        $entry = $this->entry();
        if ($attribute === \PDO::ATTR_STATEMENT_CLASS) {
            $this->mindClass($entry, (string) ($value[0] ?? ''));
            // PDO's own class means the pool's.
            $value = ($value[0] ?? null) === \PDOStatement::class ? [Statement::class] : $value;
        }
        $before = self::attributeOf($entry->connection, $attribute);
        if ($before === $value) {
            return true;
        }
        $succeeded = $this->call($entry, 'setAttribute', $attribute, $value);
        if ($succeeded && !\array_key_exists($attribute, $entry->attributes) && \Hearth\Internal\taskId() !== 0) {
            $entry->attributes[$attribute] = $before;
        }
        $driver = $this->pool->driver();
        if ($driver instanceof PdoDriver && $attribute !== \PDO::ATTR_STATEMENT_CLASS) {
            $entry->statementsUseIt = $driver->statementsUseConnection($entry->connection);
        }

        return $succeeded;
    }

    /** The value to restore; null for an attribute that cannot be read: then the connection is replaced after this loan. */
    private static function attributeOf(\PDO $pdo, int $attribute): mixed
    {
        try {
            return @$pdo->getAttribute($attribute);
        } catch (\PDOException) {
            return null;
        }
    }

    /**
     * Methods of the driver, such as `pgsqlCopyFromArray()` or `sqliteCreateFunction()`.
     *
     * @param list<mixed> $arguments
     */
    public function __call(string $name, array $arguments): mixed
    {
        $entry = $this->entry();
        $entry->dirty = true;

        return $this->call($entry, $name, ...$arguments);
    }

    /** When nothing refers to this object or its statements any more, its connections are closed, as PDO does. */
    public function __destruct()
    {
        if (isset($this->pool) && \Hearth\Internal\taskId() !== 0) {
            $this->pool->abandon();
        }
    }

    public function __clone()
    {
        throw new \Error('a Hearth\Pool\Pdo cannot be cloned');
    }

    /** @return array<string, mixed> without the address and the password */
    public function __debugInfo(): array
    {
        return ['driver' => $this->driverName, 'pool' => $this->pool];
    }

    public function __serialize(): array
    {
        throw new \Exception('a Hearth\Pool\Pdo cannot be serialized');
    }
}
