<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Pool\Sql;
use Hearth\Tests\TestCase;

final class SqlTest extends TestCase
{
    private const DRIVERS = ['mysql', 'pgsql', 'sqlite'];

    private const CHANGING = [
        'CREATE TABLE pg_temp.secret AS SELECT 1', 'SELECT 1 AS a INTO pg_temp.x', 'SELECT 1 INTO x FROM t', 'WITH x AS (SELECT 1) SELECT * INTO y FROM x',
        'SELECT setseed(0.5)', 'UPDATE pg_settings SET setting = 1', 'SELECT my_function(1)', 'SELECT public.date(1)', 'SELECT "F"(1)', 'SELECT `f` (1)', 'SELECT $f(1)',
        'SELECT é(1)', 'SELECT * FROM set_config(1)', 'SELECT set_config (1)', 'INSERT INTO t SELECT f(1)', 'INSERT INTO t VALUES (f(1))',
        'INSERT INTO f (a) VALUES (1) RETURNING f (1)', 'SELECT get_lock(1, 2)', 'SELECT nextval(1)', 'SELECT last_insert_id(5)', 'SELECT 1; SET x = 1',
        'PRAGMA foreign_keys = 1', "ATTACH 'x' AS y", "LOAD 'x'", 'SET ROLE x', 'USE x', 'CALL f()', 'CREATE TEMPORARY TABLE t (a INT)', 'LOCK TABLES t READ',
        'PREPARE x AS SELECT 1', 'HANDLER t OPEN', 'XA START 1', 'DISCARD ALL', 'DO 1', 'DECLARE c CURSOR FOR SELECT 1', 'LISTEN x', 'EXECUTE x', 'EXECUTE IMMEDIATE ?',
        'SELECT dblink_connect(1)', 'BEGIN NOT ATOMIC SET @a = 1; END', 'COPY t FROM STDIN', 'SET NAMES utf8', 'SET LOCAL x = 1', 'LOAD DATA INFILE 1 INTO TABLE t',
        // Comments and white space between a name and its parenthesis, and elsewhere.
        'SELECT f/**/(1)', "SELECT f/* */\t/* */(1)", "SELECT f -- x\n(1)", "SELECT f\v\f(1)", 'SELECT/**/f/**/(1)', "SELECT -- '\n f(1) -- '", 'SELECT 1/**/;/**/SET x = 1',
        "SELECT 1; -- x\nSET x = 1", 'SELECT public . abs (1)', 'SELECT public/**/./**/abs(1)', 'SELECT 1 /**/INTO/**/x',
        // Names.
        'SELECT "set_config"(1)', 'SELECT pg_catalog."set_config"(1)', 'SELECT a."b".c(1)', 'SELECT `a`.`b`(1)', 'SELECT 1f(1)', 'SELECT d.1f(1)', 'SELECT SET_CONFIG(1)',
        // Parts of other statements.
        'VALUES (f(1))', 'EXPLAIN ANALYZE SELECT f(1)', 'EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1', 'EXPLAIN (ANALYZE) CREATE TABLE t AS SELECT 1',
        'EXPLAIN ANALYZE EXECUTE x', 'WITH x AS (SELECT f(1)) SELECT 1', 'DELETE FROM t RETURNING f(1)', 'UPDATE t SET a = f(1)', 'DELETE FROM t WHERE f(a)',
        'SELECT 1 AS insert INTO TEMP x', 'SELECT (1) merge INTO LOCAL TEMPORARY x', 'SELECT * FROM t ORDER BY f(1)', 'TABLE t LIMIT f(1)', 'CREATE TABLE temp.t (a INT)',
        'CREATE TABLE "temp".t (a INT)', 'CREATE/**/TABLE/**/temp.t (a INT)',
        // Texts that are not read.
        "SELECT 'open", "SELECT '\0', 1", "SELECT '\xbf\\' OR f(1) -- '", "SELECT f\xa0(1)",
    ];

    private const CLEAN = [
        'SELECT 1', 'SELECT COUNT(*) FROM t WHERE id IN (1, 2) AND (a OR b)', 'INSERT INTO t (a, b) VALUES (?, ?)',
        'INSERT INTO t(a) VALUES (1)', 'INSERT IGNORE INTO t (a) VALUES (1)', 'REPLACE INTO t (a) VALUES (1)', 'UPDATE t SET a = a + 1', 'DELETE FROM t',
        'SELECT MAX(a), COALESCE(b, 1) FROM t GROUP BY (a)', 'CREATE TABLE t (id INT, n VARCHAR(10), PRIMARY KEY (id))', 'SELECT CAST(a AS DECIMAL(1, 2)) FROM t',
        'PRAGMA table_info(t)', 'PRAGMA foreign_keys', 'SELECT * FROM (SELECT 1) s', 'SELECT * FROM t WHERE EXISTS (SELECT 1)',
        'INSERT INTO "public"."t" ("a") VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1', 'INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)',
        'SELECT ROW_NUMBER() OVER (PARTITION BY a) FROM t', "-- a comment\nSELECT 1", '/* another */ COMMIT', 'ROLLBACK TO SAVEPOINT a',
        "SELECT 'f(1); SET x = 1' FROM t", "SELECT 'it''s' /* isn't f(1) */ FROM t -- f(1)\nWHERE a = 1;", 'SELECT a /* f (1) */ FROM t', "/* app='x', at='y(1)' */ SELECT 1 -- end",
        'SELECT "an odd name (1)" FROM t', "INSERT INTO t(a) VALUES ('a@example.com')", "SELECT 'é' FROM t", 'insert  into t (a) values (lower(?))', 'EXPLAIN SELECT 1',
        'EXPLAIN ANALYZE SELECT 1', 'EXPLAIN (ANALYZE, BUFFERS) SELECT COUNT(*) FROM t', 'DESCRIBE t', 'DESC db.t a', 'SHOW TABLES', 'CREATE TABLE IF NOT EXISTS t (a INT)',
        'CREATE TABLE t (a INT REFERENCES db.u (id))', "SELECT 'C:\\\\' FROM t", 'SELECT temp FROM weather', 'SELECT error_count, diagnostics, previous, value, identity FROM jobs', 'SELECT functional, next, value FROM t', "SELECT a FROM t WHERE b LIKE '%\\_%'",
    ];

    /** What only one kind of database takes for a change, or for none. */
    private const BY_DRIVER = [
        'mysql' => [
            'changing' => [
                '/*M! SET sql_mode=0 */ SELECT 1', '/*!50000 SET sql_mode=0 */ SELECT 1', 'SELECT /*!50000 f() */ 1', 'SELECT f/*!*/(1)', 'SELECT f/*!50000 (1)*/', 'SELECT @a := 1',
                'SELECT 1 INTO @a', 'SELECT 1 INTO/**/@`a`', 'SELECT 1--f(1)', "SELECT f #\n(1)", "SELECT f--\t\n(1)", "SELECT # '\n f(1) # '", "SELECT 'a\\'', f(1), '\\''",
                "SELECT '\\', f(1), '\\'", "SELECT \"\\\", f(1), '\\\", '", "SELECT /* /* */ f(1) /* */ */", 'SELECT NEXT VALUE FOR s', 'SELECT NEXT/**/VALUE FOR s', 'SELECT s.nextval',
                'SELECT SQL_CALC_FOUND_ROWS 1',
            ],
            'clean' => ['INSERT INTO `db`.`t` (a) VALUES (1)', 'BEGIN', "SELECT 'O\\'Reilly'", 'SELECT "O\\"Reilly"', "# f(1)\nSELECT 1", "SELECT 'it\\'s', lower('\\\\') -- x", '/* /* */ SELECT 1'],
        ],
        'pgsql' => [
            'changing' => [
                'SELECT U&"\0066"(1)', "SELECT E'\\'', f(1), '", "SELECT 'a' -- '\r, f(1)", 'SELECT /* /* */ */ f(1)', 'SELECT /*/**/ \' */ f(1) /* \' */', "SELECT \$\$'\$\$, f(1), \$\$'\$\$",
                "SELECT \$a\$'\$b\$\$a\$, f(1), '", "SELECT E'a'\n'\\'', f(1), 'b'", "SELECT 'a\\', f(1), '\\'", 'SELECT $a$', 'SELECT "a"/**/(1)', "SELECT e'a\\'', f(1), 'b'",
            ],
            'clean' => [
                'BEGIN', 'SELECT /* /* f(1) */ f(1) */ 1', "SELECT \$\$ f(1) ' \$\$, 1", "SELECT E'it\\'s f(1)'", 'SELECT $1 FROM t', "SELECT a #>> '{b}', a @> b FROM t", "SELECT 'a'\n'f(1)'",
                "SELECT E'a'\n'\\', f(1), \\''", 'SELECT ARRAY[lower(a)], b[1] FROM t', "SELECT a--f(1)\nFROM t",
            ],
        ],
        'sqlite' => [
            'changing' => ['SELECT [f](1)', 'CREATE TABLE [temp].t (a)', 'PRAGMA foreign_keys/**/= 1', 'PRAGMA foreign_keys(1)', 'SELECT load_extension(1)', 'BEGIN IMMEDIATE', '/**/SAVEPOINT a'],
            'clean' => ["SELECT [it's f(1)] FROM t", 'PRAGMA main.foreign_keys', 'COMMIT', 'RELEASE SAVEPOINT a'],
        ],
    ];

    private const RECALLING = [
        'SELECT LAST_INSERT_ID()', 'SELECT "lastval"()', 'SELECT `found_rows`/**/()', 'SHOW WARNINGS', 'SHOW/**/WARNINGS', "-- x\nSHOW COUNT(*) ERRORS", 'SELECT @@session.identity',
        'SELECT @@`session`.`identity`', 'SELECT @@warning_count', 'SELECT PREVIOUS/**/VALUE FOR s', 'SELECT s.currval', 'GET DIAGNOSTICS @a = ROW_COUNT', 'SHOW /*! WARNINGS */',
    ];

    /** @return iterable<string, array{string, string, bool}> */
    public static function statements(): iterable
    {
        foreach (self::DRIVERS as $driver) {
            foreach ([[true, self::CHANGING, 'changing'], [false, self::CLEAN, 'clean']] as [$changes, $all, $kind]) {
                foreach ([...$all, ...self::BY_DRIVER[$driver][$kind]] as $sql) {
                    yield "$driver: " . \json_encode($sql, \JSON_INVALID_UTF8_SUBSTITUTE) => [$driver, $sql, $changes];
                }
            }
        }
    }

    /** @dataProvider statements */
    public function testItErrsOnTheSafeSideAndPlainStatementsCostNoReset(string $driver, string $sql, bool $changes): void
    {
        self::assertSame($changes, (Sql::of($driver)->judge($sql) & Sql::CHANGES) !== 0);
        self::assertSame($changes, ((Sql::of($driver)->known[$sql] ?? (int) $changes) & Sql::CHANGES) !== 0, 'what is remembered differs');
    }

    public function testItKnowsWhatAsksForEarlierStatements(): void
    {
        foreach (self::RECALLING as $sql) {
            $judge = Sql::of('mysql');
            self::assertSame(Sql::RECALLS, $judge->judge($sql) & Sql::RECALLS, $sql);
            self::assertArrayNotHasKey($sql, $judge->known, 'the pool would see only the first of them');
        }
        foreach (self::CLEAN as $sql) {
            self::assertSame(0, Sql::of('mysql')->judge($sql) & Sql::RECALLS, $sql);
        }
    }

    public function testItKnowsWhatBeginsAndEndsTransactions(): void
    {
        $judge = Sql::of('pgsql');
        foreach (['BEGIN', '/* /* */ */begin', 'START/**/TRANSACTION', "--x\rCOMMIT", 'ROLLBACK', 'END', 'ROLLBACK WORK'] as $sql) {
            self::assertSame(Sql::SETTLES, $judge->judge($sql), $sql);
        }
        foreach (['ROLLBACK TO a', 'ROLLBACK/**/WORK TO SAVEPOINT a', 'SELECT 1', 'SAVEPOINT a', 'beginning'] as $sql) {
            self::assertSame(0, $judge->judge($sql) & Sql::SETTLES, $sql);
        }
    }

    public function testItKnowsWhatMayWrite(): void
    {
        foreach (['pgsql', 'mysql', 'sqlite'] as $driver) {
            foreach (['SELECT 1', '/* x */ select a FROM b', '(SELECT 1)', 'VALUES (1)', 'COMMIT'] as $sql) {
                self::assertSame(0, Sql::of($driver)->judge($sql) & Sql::WRITES, $sql);
            }
            foreach (['INSERT INTO a VALUES (1)', 'WITH x AS (INSERT INTO a VALUES (1)) SELECT 1', 'EXPLAIN ANALYZE INSERT INTO a VALUES (1)', 'CALL x()', "SELECT 'open"] as $sql) {
                self::assertSame(Sql::WRITES, Sql::of($driver)->judge($sql) & Sql::WRITES, $sql);
            }
        }
    }

    public function testItKnowsThePragmasThatNothingCompares(): void
    {
        foreach (['PRAGMA new_setting = 1', 'PRAGMA/**/cache_size = 1', 'PRAGMA "cache_size" = 1', 'PRAGMA cache_size = 1; PRAGMA main.new_setting(1)'] as $sql) {
            self::assertSame(Sql::LASTS, Sql::of('sqlite')->judge($sql) & Sql::LASTS, $sql);
        }
        foreach (['PRAGMA cache_size = 1', 'PRAGMA main.user_version = 1', 'PRAGMA new_setting', 'PRAGMA table_info(a)', "SELECT 'pragma'"] as $sql) {
            self::assertSame(0, Sql::of('sqlite')->judge($sql) & Sql::LASTS, $sql);
        }
    }

    public function testItKnowsWhatNoResetOfPostgresqlUndoes(): void
    {
        foreach (["LOAD 'auto_explain'", "SELECT dblink_connect('mine', 'dbname=x')", "SELECT public.\"dblink_connect_u\"('dbname=x')", "SELECT pg_backup_start('x')"] as $sql) {
            self::assertSame(Sql::LASTS, Sql::of('pgsql')->judge($sql) & Sql::LASTS, $sql);
        }
        foreach (["SELECT 'LOAD'", 'SELECT load FROM machines', "SELECT dblink_get_connections()", 'LISTEN x'] as $sql) {
            self::assertSame(0, Sql::of('pgsql')->judge($sql) & Sql::LASTS, $sql);
        }
    }

    /** Of a server that is none of the three, neither the lexical rules nor the open transactions are known. */
    public function testItReadsPlainStatementsOnlyOfOtherServers(): void
    {
        foreach (['BEGIN', 'START TRANSACTION', 'SAVEPOINT a', 'SELECT f(1)', "SELECT 'a'", 'SELECT [a] FROM t', 'SELECT 1 -- x', 'SET x 1'] as $sql) {
            self::assertSame(Sql::CHANGES, Sql::of('odbc')->judge($sql) & Sql::CHANGES, $sql);
        }
        foreach (['SELECT a FROM t WHERE b = ?', 'INSERT INTO t (a) VALUES (?)', 'COMMIT', 'SELECT lower(a) FROM t'] as $sql) {
            self::assertSame(0, Sql::of('odbc')->judge($sql) & Sql::CHANGES, $sql);
        }
    }

    public function testItKnowsWhatAsksSqliteForChanges(): void
    {
        foreach (['SELECT changes()', 'SELECT total_changes ()', 'SELECT "changes"/**/()'] as $sql) {
            self::assertSame(Sql::RECALLS, Sql::of('sqlite')->judge($sql) & Sql::RECALLS, $sql);
        }
        foreach (['SELECT changes FROM a', 'INSERT INTO changes (a) VALUES (1)', 'SELECT exchanges(1)'] as $sql) {
            self::assertSame(0, Sql::of('sqlite')->judge($sql) & Sql::RECALLS, $sql);
        }
    }

    /** No locale of the app has a say in what is white space, or which letters are the same. */
    public function testTheLocaleChangesNothing(): void
    {
        $before = \setlocale(\LC_CTYPE, '0');
        \setlocale(\LC_CTYPE, 'tr_TR.ISO-8859-9', 'tr_TR.UTF-8', 'de_DE.ISO-8859-1');
        try {
            self::assertSame(Sql::CHANGES, Sql::of('pgsql')->judge('SELECT 2 INTO TEMP X'));
            self::assertSame(Sql::WRITES, Sql::of('pgsql')->judge('INSERT INTO T (I) VALUES (MIN(2))'));
        } finally {
            \setlocale(\LC_CTYPE, $before);
        }
    }
}
