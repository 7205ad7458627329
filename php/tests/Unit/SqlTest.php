<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Pool\Sql;
use Hearth\Tests\TestCase;

final class SqlTest extends TestCase
{
    private const CHANGING = [
        'CREATE TABLE pg_temp.secret AS SELECT 1', 'SELECT 1 AS a INTO pg_temp.x', 'SELECT 1 INTO x FROM t', 'WITH x AS (SELECT 1) SELECT * INTO y FROM x',
        '/*M! SET sql_mode=0 */ SELECT 1', '/*!50000 SET sql_mode=0 */ SELECT 1', 'SELECT /*!50000 f() */ 1', 'SELECT setseed(0.5)', 'UPDATE pg_settings SET setting = 1',
        'SELECT my_function(1)', 'SELECT public.date(1)', 'SELECT "F"(1)', 'SELECT `f` (1)', 'SELECT $f(1)', 'SELECT é(1)', 'SELECT * FROM set_config(1)',
        'SELECT set_config (1)', 'INSERT INTO t SELECT f(1)', 'INSERT INTO t VALUES (f(1))', 'INSERT INTO f (a) VALUES (1) RETURNING f (1)', 'SELECT get_lock(1, 2)',
        'SELECT nextval(1)', 'SELECT last_insert_id(5)', 'SELECT 1; SET x = 1', 'SELECT @a := 1', 'SELECT 1 INTO @a', 'PRAGMA foreign_keys = 1', "ATTACH 'x' AS y",
        "LOAD 'x'", 'SET ROLE x', 'USE x', 'CALL f()', 'CREATE TEMPORARY TABLE t (a INT)', 'LOCK TABLES t READ', 'PREPARE x AS SELECT 1', 'HANDLER t OPEN', 'XA START 1',
        'DISCARD ALL', 'DO 1', 'DECLARE c CURSOR FOR SELECT 1', 'LISTEN x', 'EXECUTE x', 'SELECT dblink_connect(1)', 'SELECT U&"\0066"(1)',
    ];

    private const CLEAN = [
        'SELECT 1', 'SELECT COUNT(*) FROM t WHERE id IN (1, 2) AND (a OR b)', 'INSERT INTO t (a, b) VALUES (?, ?)', 'INSERT INTO `db`.`t` (a) VALUES (1)',
        'INSERT INTO t(a) VALUES (1)', 'INSERT IGNORE INTO t (a) VALUES (1)', 'REPLACE INTO t (a) VALUES (1)', 'UPDATE t SET a = a + 1', 'DELETE FROM t',
        'SELECT MAX(a), COALESCE(b, 1) FROM t GROUP BY (a)', 'CREATE TABLE t (id INT, n VARCHAR(10), PRIMARY KEY (id))', 'SELECT CAST(a AS DECIMAL(1, 2)) FROM t',
        'PRAGMA table_info(t)', 'PRAGMA foreign_keys', 'SELECT * FROM (SELECT 1) s', 'SELECT * FROM t WHERE EXISTS (SELECT 1)',
        'INSERT INTO "public"."t" ("a") VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1', 'INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)',
        'SELECT ROW_NUMBER() OVER (PARTITION BY a) FROM t', "-- a comment\nSELECT 1", '/* another */ COMMIT', 'BEGIN', 'ROLLBACK TO SAVEPOINT a',
    ];

    public function testItErrsOnTheSafeSide(): void
    {
        foreach (self::CHANGING as $sql) {
            self::assertTrue(Sql::changesSession($sql), $sql);
        }
    }

    public function testPlainStatementsCostNoReset(): void
    {
        foreach (self::CLEAN as $sql) {
            self::assertFalse(Sql::changesSession($sql), $sql);
        }
    }
}
