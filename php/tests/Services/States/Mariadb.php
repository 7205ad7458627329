<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

use Hearth\Pool\Pdo;
use Hearth\Pool\Pool;
use Hearth\Tests\Services;

final class Mariadb implements Database
{
    use Queries;

    private const FACTORY = "SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES', tx_read_only = 0, wait_timeout = 1234, @mine = NULL";

    public function name(): string
    {
        return 'MariaDB';
    }

    public function prepare(): void
    {
        $root = new \PDO(...Services::mariadb());
        foreach (['CREATE OR REPLACE ROLE reader', 'CREATE OR REPLACE ROLE writer', 'CREATE OR REPLACE USER states@localhost', 'GRANT ALL ON test.* TO states@localhost',
            'GRANT reader TO states@localhost', 'GRANT writer TO states@localhost', 'SET DEFAULT ROLE reader FOR states@localhost',
            'CREATE OR REPLACE TABLE test.others (id INT)', 'CREATE OR REPLACE TABLE test.states (id INT AUTO_INCREMENT PRIMARY KEY, n INT)'] as $sql) {
            $root->exec($sql);
        }
    }

    public function states(): array
    {
        return [
            'open transaction (`START TRANSACTION`)' => ['START TRANSACTION;; INSERT INTO test.states (n) VALUES (1)', 'SELECT COUNT(*) FROM test.states'],
            'open transaction (`beginTransaction()`)' => ["->\$c->beginTransaction() && \$c->exec('INSERT INTO test.states (n) VALUES (1)')", 'SELECT COUNT(*) FROM test.states'],
            'role (`SET ROLE`)' => ['SET ROLE writer', 'SELECT CURRENT_ROLE()'],
            'role (`SET ROLE NONE`)' => ['SET ROLE NONE', 'SELECT CURRENT_ROLE()'],
            'database (`USE`)' => ['USE information_schema', 'SELECT DATABASE()'],
            'time zone, as the factory set it' => ["SET time_zone = '-01:00'", 'SELECT @@time_zone'],
            'SQL mode, as the factory set it' => ["SET sql_mode = ''", 'SELECT @@sql_mode'],
            '`wait_timeout`, as the factory set it' => ['SET wait_timeout = 77', 'SELECT @@wait_timeout'],
            'isolation' => ['SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE', 'SELECT @@tx_isolation'],
            'read only (`SET SESSION TRANSACTION READ ONLY`)' => ['SET SESSION TRANSACTION READ ONLY', 'SELECT @@tx_read_only'],
            'autocommit (`SET autocommit`)' => ['SET autocommit = 0', 'SELECT @@autocommit'],
            'autocommit (`setAttribute()`)' => ['->$c->setAttribute(\PDO::ATTR_AUTOCOMMIT, 0)', '->$c->getAttribute(\PDO::ATTR_AUTOCOMMIT) . $c->query("SELECT @@autocommit")->fetchColumn()'],
            'attributes (`ATTR_ERRMODE`)' => ['->$c->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT)', '->$c->getAttribute(\PDO::ATTR_ERRMODE)'],
            'attributes (`ATTR_STRINGIFY_FETCHES`)' => ['->$c->setAttribute(\PDO::ATTR_STRINGIFY_FETCHES, true)', '->var_export($c->query("SELECT 1")->fetchColumn(), true)'],
            'user variable' => ['SET @mine = 7', 'SELECT @mine'],
            'user variable, in an executable comment' => ['SELECT 1 /*M! INTO @mine */', 'SELECT @mine'],
            'temporary table' => ['CREATE TEMPORARY TABLE mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'lock (`GET_LOCK()`)' => ["DO GET_LOCK('mine', 0)", "SELECT COALESCE(IS_USED_LOCK('mine'), 0) = CONNECTION_ID()"],
            'lock (`LOCK TABLES`)' => ['LOCK TABLES test.states READ', 'SELECT COUNT(*) FROM test.others'],
            'character set (`SET NAMES`)' => ['SET NAMES latin1 COLLATE latin1_german2_ci', 'SELECT @@character_set_client, @@collation_connection'],
            'prepared statement (`PREPARE`)' => ["PREPARE mine FROM 'SELECT 7'", "EXECUTE mine"],
        ];
    }

    public function drivers(): array
    {
        [$dsn] = Services::mariadb();
        $socket = \preg_match('/unix_socket=([^;]+)/', $dsn, $found) ? $found[1] : '';

        return [
            '`Pool\Pdo`' => static fn (mixed ...$options) => new Pdo($dsn, 'states', '', [\PDO::MYSQL_ATTR_INIT_COMMAND => self::FACTORY], ...$options),
            '`Pool` of `PDO`' => static fn (mixed ...$options) => new Pool(static fn () => new \PDO($dsn, 'states', '', [\PDO::MYSQL_ATTR_INIT_COMMAND => self::FACTORY]), ...$options),
            '`Pool` of `mysqli`' => static fn (mixed ...$options) => new Pool(static function () use ($socket): \mysqli {
                $mysqli = new \mysqli('localhost', 'states', '', 'test', 0, $socket);
                $mysqli->query(self::FACTORY);

                return $mysqli;
            }, ...$options),
        ];
    }

    public function number(object $connection): mixed
    {
        return $this->look($connection, 'SELECT CONNECTION_ID()');
    }
}
