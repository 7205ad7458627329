<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

use Hearth\Pool\Pdo;
use Hearth\Pool\Pool;

final class Sqlite implements Database
{
    use Queries;

    public function name(): string
    {
        return 'SQLite';
    }

    private static function file(): string
    {
        return \sys_get_temp_dir() . '/hearth-states-' . \getmypid() . '.sqlite';
    }

    public function prepare(): void
    {
        @\unlink(self::file());
        (new \PDO('sqlite:' . self::file()))->exec('CREATE TABLE states (n INT)');
        \register_shutdown_function(static fn () => @\unlink(self::file()));
    }

    public function states(): array
    {
        return [
            'open transaction (`BEGIN`)' => ['BEGIN;; INSERT INTO states VALUES (1)', 'SELECT COUNT(*) FROM states'],
            '`PRAGMA`' => ['PRAGMA foreign_keys = 1', 'SELECT * FROM pragma_foreign_keys'],
            '`ATTACH`' => ["ATTACH ':memory:' AS mine", 'SELECT COUNT(*) FROM mine.sqlite_master'],
            'temporary table' => ['CREATE TEMP TABLE mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'temporary table (`temp.x`)' => ['CREATE TABLE temp.mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'function' => ['->$c->sqliteCreateFunction("mine", static fn () => 7)', 'SELECT mine()'],
            'attributes (`ATTR_CASE`)' => ['->$c->setAttribute(\PDO::ATTR_CASE, \PDO::CASE_UPPER)', '->$c->getAttribute(\PDO::ATTR_CASE)'],
        ];
    }

    public function drivers(): array
    {
        return [
            '`Pool\Pdo`' => static fn (mixed ...$options) => new Pdo('sqlite:' . self::file(), null, null, null, ...$options),
            '`Pool` of `PDO`' => static fn (mixed ...$options) => new Pool(static fn () => new \PDO('sqlite:' . self::file()), ...$options),
        ];
    }

    /** @var \WeakMap<object, int>|null */
    private static ?\WeakMap $numbers = null;

    public function number(object $connection): mixed
    {
        if ($connection instanceof Pdo) {
            $connection = $connection->pool()->borrow();
        }
        self::$numbers ??= new \WeakMap();

        return self::$numbers[$connection] ??= \hrtime(true);
    }
}
