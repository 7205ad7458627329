<?php

declare(strict_types=1);

namespace Hearth\Pool;

if (!\class_exists(\PDO::class, false)) {
    return;
}

/**
 * A `\PDO` whose calls go to the connection of the current task: a drop-in for code that uses one PDO everywhere.
 *
 * ```php
 * $pdo = new Hearth\Pool\Pdo($dsn, $user, $password, size: 64);   // at boot; the other options are those of Pool
 * // in any request, at the same time:
 * $pdo->beginTransaction(); $pdo->exec('…'); $pdo->commit();
 * ```
 *
 * A task gets a connection with its first query and keeps it until the task ends. `setAttribute()` outside a task (at boot)
 * applies to all connections; inside a task to that task's connection, until the task ends. A statement must not be used
 * after its task has ended.
 */
final class Pdo extends \PDO
{
    private readonly Pool $pool;
    private readonly Leases $leases;

    private readonly PdoFactory $factory;
    private readonly SessionTracker $session;
    private readonly Sql $sql;
    private readonly string $driverName;

    /**
     * @param string|\Closure(): ?string|null $password a function is called for each new connection: for secrets that change
     * @param array<int, mixed>|null $options PDO's attributes, as for `new PDO`
     * @param mixed ...$pool options of `Pool`, by name, and `queryTimeout`: seconds after which the database ends a statement
     * @throws \ValueError on invalid options of the pool
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
        $queryTimeout = (float) ($pool['queryTimeout'] ?? 0.0);
        unset($pool['queryTimeout']);
        $this->factory = new PdoFactory($dsn, $username, $password, $options ?? [], $queryTimeout);
        $this->driverName = $this->factory->driverName;
        $pool['factory'] = $this->factory;
        $this->pool = new Pool(...$pool);
        $this->leases = $this->pool->leases();
        $this->sql = Sql::of($this->driverName);
        $this->session = new SessionTracker($this->driverName, $this->sql, $this->pool);
    }

    /** Returns the pool behind it, for its statistics and its operations. */
    public function pool(): Pool
    {
        return $this->pool;
    }

    /**
     * Gives the current task's connection back before the task ends: for a task that has much to do without the database.
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

    /** Returns the current task's connection; the first call borrows it. */
    private function entry(): Entry
    {
        $entry = $this->leases->ofTask();
        if ($entry->evictReason === 'broken') {
            $set = [];
            foreach ($entry->attributes as $attribute => $before) {
                $set[$attribute] = SessionTracker::attributeOf($entry->connection, $attribute);
            }
            $entry = $this->leases->renewed($entry);
            if ($entry->evictReason === 'broken') {
                // Thrown here, not by PDO: after an interrupted query libpq takes its answer for the
                // answer to the next query.
                throw new \PDOException('the connection broke, and with it what this task had begun on it (a transaction, or settings of the session); '
                    . 'after rollBack() or release() the next statement gets another connection');
            }
            foreach ($set as $attribute => $value) {
                $this->setAttribute($attribute, $value);
            }
        }
        if (!$entry->watched) {
            $this->session->adopt($entry);
        }

        return $entry;
    }

    /** Calls a method of the current task's connection, and notes if an error shows that the connection is unusable. */
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

    /** Handles a call that failed without an exception. */
    private function refused(Entry $entry): false
    {
        $this->noteFailure($entry, PdoDriver::silentError($entry->connection->errorInfo()));

        return false;
    }

    /** Returns the connection for a statement, and notes if the statement may change the state of its session. */
    private function entryFor(string $sql): Entry
    {
        $entry = $this->leases->ofTask();
        if (!$entry->watched || $entry->evictReason === 'broken') {
            $entry = $this->entry();
        }
        $effects = $this->sql->known[$sql] ?? $this->session->effectsOf($entry, $sql);
        if ($effects !== 0) {
            $entry->dirty = $entry->dirty || ($effects & Sql::CHANGES) !== 0;
            $entry->wrote = $entry->lease;
        }

        return $entry;
    }

    /** Calls a method that may begin or end a transaction. */
    private function settling(Entry $entry, string $method, mixed ...$arguments): mixed
    {
        try {
            return $this->call($entry, $method, ...$arguments);
        } finally {
            if ($this->driverName === 'pgsql') {
                $this->session->noteTransaction($entry);
            }
        }
    }

    /** @internal makes sure that a connection that the error shows to be unusable is not lent again */
    public function noteFailure(Entry $entry, \Throwable $error): void
    {
        $entry->failed = $entry->lease;
        if ($entry->evictReason === null && $this->pool->driver()->isBroken($error)) {
            $entry->evictReason = 'broken';
        }
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

    /** @param array<int, mixed> $options any of which may let the statement talk to the server when it is freed */
    private function preparedWith(Entry $entry, string $query, array $options): \PDOStatement|false
    {
        $before = $entry->statementsUseIt;
        $entry->statementsUseIt = true;
        if (isset($options[\PDO::ATTR_STATEMENT_CLASS])) {
            $this->session->mindStatementClass($entry, (string) ($options[\PDO::ATTR_STATEMENT_CLASS][0] ?? ''));
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

    /** Finishes the statement that PDO has made for a query. */
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
            // A statement that fails to begin a transaction begins none.
            $this->session->noteTransaction($entry);

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

    /** On a broken connection this throws, as PDO does; then the task knows, and its next statement gets a new one. */
    public function rollBack(): bool
    {
        try {
            return $this->settling($this->entry(), 'rollBack');
        } finally {
            $entry = $this->pool->current();
            if ($entry?->evictReason === 'broken') {
                $entry->resigned = $entry->lease;
            }
        }
    }

    /** Without a connection yet, the task has no transaction either. */
    public function inTransaction(): bool
    {
        $entry = $this->pool->current();
        if ($entry === null) {
            return false;
        }
        $driver = $this->pool->driver();

        return $entry->evictReason === 'broken' && $driver instanceof PdoDriver ? $driver->holdsTransaction($entry) : $entry->connection->inTransaction();
    }

    public function lastInsertId(?string $name = null): string|false
    {
        $entry = $this->entry();
        if ($name === null && $entry->ran !== $entry->lease && \in_array($this->driverName, ['mysql', 'sqlite'], true)) {
            // The connection would return the id of an earlier borrower.
            return '0';
        }
        if ($this->driverName === 'pgsql') {
            $this->session->forgetEarlier($entry);
        }

        return $this->call($entry, 'lastInsertId', $name);
    }

    public function quote(string $string, int $type = \PDO::PARAM_STR): string|false
    {
        return $this->call($this->entry(), 'quote', $string, $type);
    }

    public function errorCode(): ?string
    {
        return $this->pool->current() === null ? null : $this->errorInfo()[0];
    }

    public function errorInfo(): array
    {
        $entry = $this->pool->current();
        if ($entry !== null && $entry->failed !== $entry->lease) {
            // The connection would return the error of an earlier borrower.
            return [\PDO::ERR_NONE, null, null];
        }

        return $entry?->connection->errorInfo() ?? ['', null, null];
    }

    public function getAttribute(int $attribute): mixed
    {
        if ($attribute === \PDO::ATTR_DRIVER_NAME) {
            return $this->driverName;
        }
        $entry = $this->pool->current();
        if ($entry === null && \array_key_exists($attribute, $this->factory->attributes)) {
            return $this->factory->attributes[$attribute];
        }
        $value = $this->call($entry ?? $this->entry(), 'getAttribute', $attribute);

        return $attribute === \PDO::ATTR_STATEMENT_CLASS && $value[0] === Statement::class ? [\PDOStatement::class] : $value;
    }

    /** Outside a task, applies to all connections; inside one to this task's connection, until it goes back. */
    public function setAttribute(int $attribute, mixed $value): bool
    {
        if ($attribute === \PDO::ATTR_PERSISTENT) {
            return false;
        }
        if (\Hearth\Internal\taskId() === 0) {
            $this->factory->attributes[$attribute] = $value;
            $entry = $this->pool->current();
            if ($entry === null) {
                $this->pool->recycle();

                return true;
            }
        }
        $entry = $this->entry();
        if ($attribute === \PDO::ATTR_STATEMENT_CLASS) {
            $this->session->mindStatementClass($entry, (string) ($value[0] ?? ''));
            // PDO's own class stands for the pool's.
            $value = ($value[0] ?? null) === \PDOStatement::class ? [Statement::class] : $value;
        }
        $before = SessionTracker::attributeOf($entry->connection, $attribute);
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

    /**
     * Calls methods of the driver, such as `pgsqlCopyFromArray()` or `sqliteCreateFunction()`.
     *
     * @param list<mixed> $arguments
     */
    public function __call(string $name, array $arguments): mixed
    {
        $entry = $this->entry();
        $entry->dirty = true;

        return $this->call($entry, $name, ...$arguments);
    }

    /** Closes the connections when nothing refers to this object or its statements any more, as PDO does. */
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
