<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

/** SQL on whatever connection; what begins with `->` is PHP code with `$c`, for PDO only. */
trait Queries
{
    public function change(object $connection, string $change): void
    {
        foreach (\explode(';; ', $change) as $sql) {
            $this->run($connection, $sql);
        }
    }

    private function run(object $connection, string $sql): void
    {
        match (true) {
            \str_starts_with($sql, '->') => $this->code($connection, \substr($sql, 2)),
            $connection instanceof \PDO => $connection->exec($sql),
            $connection instanceof \mysqli => $connection->query($sql),
            $connection instanceof \PgSql\Connection => \pg_query($connection, $sql) ?: throw new \RuntimeException(\pg_last_error($connection)),
        };
    }

    private function code(object $c, string $code): mixed
    {
        return $c instanceof \PDO ? eval("return $code;") : throw new NotSupported();
    }

    public function look(object $connection, string $show): mixed
    {
        try {
            return match (true) {
                \str_starts_with($show, '->') => $this->code($connection, \substr($show, 2)),
                $connection instanceof \PDO => \json_encode($connection->query($show)->fetchAll(\PDO::FETCH_NUM)),
                $connection instanceof \mysqli => \json_encode($connection->query($show)->fetch_all()),
                $connection instanceof \PgSql\Connection => \json_encode(\pg_fetch_all(@\pg_query($connection, $show) ?: throw new \RuntimeException('refused'), \PGSQL_NUM)),
            };
        } catch (\RuntimeException) {
            return 'refused';
        }
    }
}
