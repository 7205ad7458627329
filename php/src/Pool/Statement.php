<?php

declare(strict_types=1);

namespace Hearth\Pool;

if (!\class_exists(\PDOStatement::class, false)) {
    return;
}

/**
 * A statement of `Hearth\Pool\Pdo`: a real `PDOStatement` that refuses to use its connection after
 * that went back to the pool.
 *
 * A statement class of an app (`PDO::ATTR_STATEMENT_CLASS`) must extend this class; a connection with statements of another
 * class is closed after its lease.
 */
class Statement extends \PDOStatement
{
    /** The connection of its lease; null until `adopt()`, which runs before other code sees the statement. */
    private ?Entry $entry = null;

    private int $lease = 0;

    /** The `Pdo` that it belongs to and keeps alive, as a statement of PDO keeps its connection. */
    private ?Pdo $pdo = null;

    /** Set if the connection must not be lent again before this statement is freed. */
    private ?OpenStatement $open = null;

    /** @internal called for each statement that PDO makes; a constructor would cost more, and also run for failed ones */
    final public function adopt(Pdo $pdo, Entry $entry): void
    {
        $this->pdo = $pdo;
        $this->entry = $entry;
        $this->lease = $entry->lease;
        if ($entry->statementsUseIt) {
            $this->open = new OpenStatement($entry);
        }
    }

    /** @return array{queryString: string} the same as for a PDOStatement */
    public function __debugInfo(): array
    {
        return ['queryString' => $this->queryString];
    }

    private function guard(): void
    {
        if ($this->entry->lease !== $this->lease) {
            $this->refuse();
        }
    }

    private function refuse(): never
    {
        throw new \PDOException($this->entry->lease === $this->lease
            ? 'the connection of this statement broke, or a wait for an answer on it was ended early; prepare it again'
            : 'the connection of this statement went back to the pool when its task ended, or was given back; prepare it again');
    }

    /** @throws \PDOException */
    public function execute(?array $params = null): bool
    {
        // On a broken connection, libpq may take the answer to an earlier query for the answer to this one.
        if ($this->entry->lease !== $this->lease || $this->entry->evictReason === 'broken') {
            $this->refuse();
        }
        $this->entry->ran = $this->lease;
        try {
            $succeeded = parent::execute($params);
        } catch (\Throwable $error) {
            $this->pdo->noteFailure($this->entry, $error);
            throw $error;
        }
        if (!$succeeded) {
            $this->pdo->noteFailure($this->entry, PdoDriver::silentError(parent::errorInfo()));
        }

        return $succeeded;
    }

    public function fetch(int $mode = \PDO::FETCH_DEFAULT, int $cursorOrientation = \PDO::FETCH_ORI_NEXT, int $cursorOffset = 0): mixed
    {
        if ($this->entry->lease !== $this->lease) {
            $this->refuse();
        }

        return parent::fetch($mode, $cursorOrientation, $cursorOffset);
    }

    public function fetchAll(int $mode = \PDO::FETCH_DEFAULT, mixed ...$args): array
    {
        if ($this->entry->lease !== $this->lease) {
            $this->refuse();
        }

        return $args === [] ? parent::fetchAll($mode) : parent::fetchAll($mode, ...$args);
    }

    public function fetchColumn(int $column = 0): mixed
    {
        if ($this->entry->lease !== $this->lease) {
            $this->refuse();
        }

        return parent::fetchColumn($column);
    }

    public function fetchObject(?string $class = 'stdClass', array $constructorArgs = []): object|false
    {
        $this->guard();

        return parent::fetchObject($class, $constructorArgs);
    }

    public function getColumnMeta(int $column): array|false
    {
        $this->guard();

        return parent::getColumnMeta($column);
    }

    public function nextRowset(): bool
    {
        $this->guard();

        return parent::nextRowset();
    }

    public function closeCursor(): bool
    {
        $this->guard();

        return parent::closeCursor();
    }

    public function getIterator(): \Iterator
    {
        $this->guard();

        return parent::getIterator();
    }
}
