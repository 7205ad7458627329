<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pdo;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;

/** Statements that look harmless and change their session: the next lease of the same connection sees a clean one. */
final class HiddenChangesTest extends TestCase
{
    private const PATH = ["'search_path', 'evil', false", 'SHOW search_path'];
    private const LOCK = ["'mine', 0", "SELECT COALESCE(IS_USED_LOCK('mine'), 0) = CONNECTION_ID()"];
    private const MINE = 'SELECT COUNT(*) FROM mine';

    /** @return list<array{string, string}> what changes the session, and a query that shows it */
    private static function ofPostgresql(): array
    {
        [$path, $shown] = self::PATH;

        return [
            ["SELECT set_config/**/('role', 'pg_monitor', false)", 'SELECT current_user'],
            ["SELECT set_config /* /* */ '( */ ($path)", $shown],
            ["SELECT set_config -- 'x'\r($path)", $shown],
            ["SELECT pg_catalog/**/.set_config\n/* */ ($path)", $shown],
            ["SELECT pg_catalog.\"set_config\"/**/($path)", $shown],
            ["SELECT \$\$'\$\$, set_config/**/($path), \$\$'\$\$", $shown],
            ["SELECT E'a'\n'\\'', set_config/**/($path), 'b'", $shown],
            ["VALUES (set_config/**/($path))", $shown],
            ["EXPLAIN ANALYZE SELECT set_config/**/($path)", $shown],
            ["WITH x AS (SELECT set_config/**/($path)) SELECT * FROM x", $shown],
            ["INSERT INTO hidden VALUES (1) RETURNING set_config/**/($path)", $shown],
            ["UPDATE hidden SET n = length(set_config/**/($path))", $shown],
            ["DELETE FROM hidden WHERE set_config/**/($path) = 'evil'", $shown],
            ["SELECT public . abs('evil')", $shown],
            ["SELECT public/**/./**/abs('evil')", $shown],
            ['SELECT pg_advisory_lock/**/(7)', "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"],
            ['EXPLAIN ANALYZE CREATE TEMP TABLE mine AS SELECT 1 AS a', self::MINE],
            ['SELECT 1 AS insert INTO TEMP mine', self::MINE],
            ['SELECT (1) merge INTO LOCAL TEMPORARY mine', self::MINE],
        ];
    }

    /** @return list<array{string, string}> */
    private static function ofMariadb(): array
    {
        [$lock, $shown] = self::LOCK;

        return [
            ["SELECT get_lock/**/($lock)", $shown],
            ["SELECT get_lock /* /* */ ($lock)", $shown],
            ["SELECT get_lock # 'x'\n($lock)", $shown],
            ["SELECT get_lock --\t\n($lock)", $shown],
            ["SELECT 1--get_lock/**/($lock)", $shown],
            ["SELECT 'a\\'', get_lock/**/($lock), '\\''", $shown],
            ["INSERT INTO hidden VALUES (get_lock/**/($lock)) RETURNING 1", $shown],
            ["UPDATE hidden SET n = get_lock/**/($lock)", $shown],
            ["DELETE FROM hidden WHERE get_lock/**/($lock) = 7", $shown],
            ['SELECT test . abs(1)', 'SELECT @mine'],
            ['SELECT test/**/./**/abs(1)', 'SELECT @mine'],
            ['SELECT 1f(1)', 'SELECT @mine'],
            ['SELECT test.1f(1)', 'SELECT @mine'],
            ['SELECT NEXT VALUE FOR numbers', 'SELECT PREVIOUS VALUE FOR numbers IS NULL'],
            ['SELECT NEXT/**/VALUE FOR numbers', 'SELECT PREVIOUS/**/VALUE FOR numbers IS NULL'],
        ];
    }

    /** @return iterable<string, array{string, string, string}> */
    public static function changes(): iterable
    {
        foreach (['postgresql' => self::ofPostgresql(), 'mariadb' => self::ofMariadb()] as $database => $all) {
            foreach ($all as [$change, $show]) {
                yield "$database: " . \json_encode($change) => [$database, $change, $show];
            }
        }
    }

    /** Makes what the statements use: a table, a sequence, and functions that change the session themselves. */
    private static function prepare(string $database): void
    {
        $pdo = new \PDO(...Services::$database());
        $statements = $database === 'postgresql'
            ? ['DROP TABLE IF EXISTS hidden', 'CREATE TABLE hidden (n INT)', 'INSERT INTO hidden VALUES (1)',
                "CREATE OR REPLACE FUNCTION public.abs(a text) RETURNS text LANGUAGE sql AS 'SELECT set_config(''search_path'', a, false)'"]
            : ['CREATE OR REPLACE TABLE hidden (n INT)', 'CREATE OR REPLACE SEQUENCE numbers', 'INSERT INTO hidden VALUES (1)',
                'CREATE OR REPLACE FUNCTION test.abs(n INT) RETURNS INT BEGIN SET @mine = 7; RETURN n; END',
                'CREATE OR REPLACE FUNCTION test.1f(n INT) RETURNS INT BEGIN SET @mine = 7; RETURN n; END'];
        foreach ($statements as $sql) {
            $pdo->exec($sql);
        }
    }

    /** @dataProvider changes */
    public function testTheNextLeaseSeesACleanSession(string $database, string $change, string $show): void
    {
        if ($database === 'mariadb' && !$this->native()) {
            self::markTestSkipped('needs the server: COM_RESET_CONNECTION');
        }
        self::prepare($database);
        $look = static function (\PDO $pdo) use ($show): mixed {
            try {
                // A statement of the pool's class belongs to a lease.
                $statement = $pdo instanceof Pdo ? $pdo->prepare($show) : $pdo->prepare($show, [\PDO::ATTR_STATEMENT_CLASS => [\PDOStatement::class]]);
                $statement->execute();

                return $statement->fetchAll(\PDO::FETCH_NUM);
            } catch (\PDOException) {
                return 'refused';
            }
        };
        $this->inTask(static function () use ($database, $change, $look): void {
            $clean = $look(new \PDO(...Services::$database()));
            $pdo = new Pdo(...[...Services::$database(), null], size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: new ListLogger());
            self::assertSame($clean, async(static fn () => $look($pdo))->await());
            async(static function () use ($pdo, $change, $look, $clean): void {
                $pdo->query($change)->fetchAll();
                // Of the connection itself, so that the pool judges no other statement.
                self::assertNotSame($clean, $look($pdo->pool()->borrow()), 'it changes nothing');
            })->await();
            self::assertSame($clean, async(static fn () => $look($pdo))->await());
            self::assertSame(1, $pdo->pool()->stats()['created'], 'not the same connection');
            $pdo->pool()->close();
        });
    }

    /** Two pools, because what is known of a statement is known to all. */
    public function testWhatAStatementRecallsIsOfItsOwnLeaseInEachPool(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the server: COM_RESET_CONNECTION');
        }
        (new \PDO(...Services::mariadb()))->exec('CREATE OR REPLACE TABLE recalled (id INT AUTO_INCREMENT PRIMARY KEY, n INT)');
        foreach (['SELECT LAST_INSERT_ID()', 'SELECT @@session.identity', 'SELECT `LAST_INSERT_ID`()'] as $ask) {
            $this->inTask(static function () use ($ask): void {
                for ($n = 0; $n < 2; ++$n) {
                    $pdo = new Pdo(...[...Services::mariadb(), null], size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: new ListLogger());
                    async(static fn () => $pdo->exec('INSERT INTO recalled (n) VALUES (1)'))->await();
                    self::assertSame(0, (int) async(static fn () => $pdo->query($ask)->fetchColumn())->await(), $ask);
                    $pdo->pool()->close();
                }
            });
        }
    }

    public function testLastInsertIdOfASequenceStaysWithItsTask(): void
    {
        self::prepare('postgresql');
        $this->inTask(function (): void {
            $pdo = new Pdo(...[...Services::postgresql(), null], size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: new ListLogger());
            (new \PDO(...Services::postgresql()))->exec("DROP TABLE IF EXISTS numbered; CREATE TABLE numbered (id SERIAL PRIMARY KEY, n INT)");
            async(static function () use ($pdo): void {
                $pdo->exec('INSERT INTO numbered (n) VALUES (1)');
                self::assertSame('1', $pdo->lastInsertId('numbered_id_seq'));
            })->await();
            $this->thrown(\PDOException::class, static fn () => async(static fn () => $pdo->lastInsertId('numbered_id_seq'))->await());
            self::assertSame(1, $pdo->pool()->stats()['created']);
            $pdo->pool()->close();
        });
    }
}
