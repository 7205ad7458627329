<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

use Hearth\Pool\Pdo;
use Hearth\Pool\Pool;
use Hearth\Tests\Services;

final class Postgresql implements Database
{
    use Queries;

    private const FACTORY = ["SET TIME ZONE 'Asia/Tokyo'", 'SET SESSION AUTHORIZATION "states user"', 'SET ROLE "states role"'];

    public function name(): string
    {
        return 'PostgreSQL';
    }

    public function prepare(): void
    {
        $admin = new \PDO(...Services::postgresql());
        foreach (['DROP TABLE IF EXISTS states', 'DROP ROLE IF EXISTS "states user", "states role", "states other"', 'CREATE ROLE "states role"', 'CREATE ROLE "states other"',
            'CREATE ROLE "states user" LOGIN IN ROLE "states role", "states other"', 'CREATE TABLE states (id SERIAL PRIMARY KEY, n INT)', 'GRANT ALL ON states, states_id_seq TO PUBLIC'] as $sql) {
            $admin->exec($sql);
        }
    }

    public function states(): array
    {
        return [
            'open transaction (`BEGIN`)' => ['BEGIN;; INSERT INTO states (n) VALUES (1)', 'SELECT COUNT(*) FROM states'],
            'open transaction (`beginTransaction()`)' => ["->\$c->beginTransaction() && \$c->exec('INSERT INTO states (n) VALUES (1)')", 'SELECT COUNT(*) FROM states'],
            'role, as the factory set it (`SET ROLE`)' => ['SET ROLE "states other"', 'SELECT current_user'],
            'role (`RESET ROLE`)' => ['RESET ROLE', 'SELECT current_user'],
            'user, as the factory set it (`RESET SESSION AUTHORIZATION`)' => ['RESET SESSION AUTHORIZATION', 'SELECT session_user, current_user'],
            'time zone, as the factory set it' => ["SET TIME ZONE 'UTC'", 'SHOW timezone'],
            '`search_path`' => ['SET search_path = pg_catalog', 'SHOW search_path'],
            'isolation' => ['SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE', 'SHOW default_transaction_isolation'],
            '`UPDATE pg_settings`' => ["UPDATE pg_settings SET setting = '4321' WHERE name = 'statement_timeout'", 'SHOW statement_timeout'],
            'custom setting (`set_config()`)' => ["SELECT set_config('my.user', '7', false)", "SELECT coalesce(nullif(current_setting('my.user', true), ''), 'none')"],
            'temporary table' => ['CREATE TEMPORARY TABLE mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'temporary table (`pg_temp.x`)' => ['CREATE TABLE pg_temp.mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'temporary table (`SELECT INTO pg_temp.x`)' => ['SELECT 1 AS a INTO pg_temp.mine', 'SELECT COUNT(*) FROM mine'],
            'advisory lock' => ['SELECT pg_advisory_lock(7)', "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"],
            'prepared statement (`PREPARE`)' => ['PREPARE mine AS SELECT 1', "SELECT COUNT(*) FROM pg_prepared_statements WHERE name = 'mine'"],
            'cursor (`WITH HOLD`)' => ['DECLARE mine CURSOR WITH HOLD FOR SELECT 1', 'SELECT COUNT(*) FROM pg_cursors'],
            '`LISTEN`' => ['LISTEN mine', 'SELECT COUNT(*) FROM pg_listening_channels()'],
            'value of a sequence (`nextval()`)' => ["SELECT nextval('states_id_seq')", 'SELECT lastval() IS NULL'],
            'attributes (`ATTR_ERRMODE`)' => ['->$c->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT)', '->$c->getAttribute(\PDO::ATTR_ERRMODE)'],
            'attributes (`ATTR_DEFAULT_FETCH_MODE`)' => ['->$c->setAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE, \PDO::FETCH_NUM)', '->json_encode($c->query("SELECT 1 AS one")->fetch())'],
        ];
    }

    public function drivers(): array
    {
        [$dsn, $user] = Services::postgresql();
        $set = function (object $connection): object {
            foreach (self::FACTORY as $sql) {
                $this->run($connection, $sql);
            }

            return $connection;
        };

        return [
            '`Pool\Pdo`' => static fn (mixed ...$options) => new Pdo($dsn, $user, '', null, ...$options + ['init' => $set]),
            '`Pool` of `PDO`' => static fn (mixed ...$options) => new Pool(static fn () => $set(new \PDO($dsn, $user, '')), ...$options),
            '`Pool` of `PgSql\Connection`' => static fn (mixed ...$options) => new Pool(
                static fn () => $set(\pg_connect(\strtr(\substr($dsn, 6), ';', ' ') . " user=$user", \PGSQL_CONNECT_FORCE_NEW)),
                ...$options,
            ),
        ];
    }

    public function number(object $connection): mixed
    {
        return $this->look($connection, 'SELECT pg_backend_pid()');
    }
}
