<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pdo;
use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;

/**
 * What a lease sees with its first calls, after another lease and on a new connection: the same. StatesTest queries the connection
 * in between, which hides what the next statement overwrites.
 */
final class FirstLookTest extends TestCase
{
    /** @return array<string, \Closure(mixed...): object> */
    private static function pools(): array
    {
        $mariadb = Services::mariadb();
        $postgresql = Services::postgresql();
        \preg_match('/unix_socket=([^;]+)/', $mariadb[0], $socket);
        $string = \strtr(\substr($postgresql[0], 6), ';', ' ') . ' user=test';
        $file = 'sqlite:' . \sys_get_temp_dir() . '/hearth-first-' . \getmypid() . '.sqlite';
        $sqlite = static function () use ($file): \PDO {
            $pdo = new \PDO($file);
            $pdo->sqliteCreateFunction('known', static fn () => 'factory');
            $pdo->sqliteCreateCollation('known', \strcmp(...));

            return $pdo;
        };
        $service = static fn (string $dsn, ?string $user) => static fn (mixed ...$options) => new Pdo($dsn, $user, '', null, ...$options);
        $of = static fn (\Closure $factory) => static fn (mixed ...$options) => new Pool($factory, ...$options);

        return [
            'Pdo MariaDB' => $service(...\array_slice($mariadb, 0, 2)), 'Pdo PostgreSQL' => $service(...\array_slice($postgresql, 0, 2)), 'Pdo SQLite' => $service($file, null),
            'PDO MariaDB' => $of(static fn () => new \PDO(...$mariadb)), 'PDO PostgreSQL' => $of(static fn () => new \PDO(...$postgresql)), 'PDO SQLite' => $of($sqlite),
            'mysqli' => $of(static fn () => new \mysqli('localhost', 'root', '', 'test', 0, $socket[1])),
            'pgsql' => $of(static fn () => \pg_connect($string, \PGSQL_CONNECT_FORCE_NEW)),
        ];
    }

    /** @return array<string, array{string, \Closure(object): mixed, \Closure(object): mixed}> the kind of pool, what a lease does, and what the next one looks at */
    private static function ofMysqli(): array
    {
        return [
            'user' => ['mysqli', static fn (\mysqli $c) => $c->change_user('first', '', 'test'), static fn (\mysqli $c) => $c->query('SELECT CURRENT_USER()')->fetch_row()],
            'local infile' => ['mysqli', static fn (\mysqli $c) => $c->options(\MYSQLI_OPT_LOCAL_INFILE, 1), static fn (\mysqli $c) => self::error(static fn () => $c->query("LOAD DATA LOCAL INFILE '/none' INTO TABLE first"))],
            'native numbers' => ['mysqli', static fn (\mysqli $c) => $c->options(\MYSQLI_OPT_INT_AND_FLOAT_NATIVE, 1), static fn (\mysqli $c) => $c->query('SELECT 1')->fetch_row()],
            'another connection' => ['mysqli', static fn (\mysqli $c) => $c->real_connect('localhost', 'first', '', 'test', 0, $c->query('SELECT @@socket')->fetch_row()[0]), static fn (\mysqli $c) => $c->query('SELECT CURRENT_USER()')->fetch_row()],
            'error' => ['mysqli', static fn (\mysqli $c) => self::error(static fn () => $c->query('secret')), static fn (\mysqli $c) => [$c->errno, $c->error, $c->sqlstate, $c->error_list]],
            'ids' => ['mysqli', static fn (\mysqli $c) => $c->query('INSERT INTO first (n) VALUES (1), (2)'), static fn (\mysqli $c) => [$c->insert_id, $c->affected_rows, $c->info, $c->warning_count, $c->field_count]],
            'found rows' => ['mysqli', static fn (\mysqli $c) => $c->query('SELECT 1 UNION SELECT 2'), static fn (\mysqli $c) => $c->query('SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()')->fetch_row()],
            'warnings' => ['mysqli', static fn (\mysqli $c) => $c->query("SELECT CAST('secret' AS INT)"), static fn (\mysqli $c) => $c->query('SHOW WARNINGS')->fetch_all()],
            'profiles' => ['mysqli', static fn (\mysqli $c) => [$c->query('SET profiling = 1'), $c->query("SELECT 'secret'")], static fn (\mysqli $c) => $c->query('SHOW PROFILES')->fetch_all()],
        ];
    }

    private static function ofPgsql(): array
    {
        return [
            'notification' => ['pgsql', static fn ($c) => \pg_query($c, "LISTEN first; NOTIFY first, 'secret'"), static fn ($c) => \pg_get_notify($c)],
            'notices' => ['pgsql', static fn ($c) => \pg_query($c, "DO \$\$ BEGIN RAISE NOTICE 'secret'; END \$\$"), static fn ($c) => [\pg_last_notice($c), \pg_last_notice($c, \PGSQL_NOTICE_ALL)]],
            'error' => ['pgsql', static fn ($c) => @\pg_query($c, 'secret'), static fn ($c) => \pg_last_error($c)],
            'trace' => ['pgsql', static fn ($c) => \pg_trace(self::trace(), 'w', $c), static function ($c): array {
                \pg_query($c, "SELECT 'secret'");
                \pg_untrace($c);

                return [\is_file(self::trace()) && \str_contains((string) \file_get_contents(self::trace()), 'secret')];
            }],
        ];
    }

    private static function trace(): string
    {
        return \sys_get_temp_dir() . '/hearth-trace-' . \getmypid();
    }

    private static function ofMariadb(string $kind): array
    {
        return [
            'table names' => [$kind, static fn (\PDO $c) => $c->setAttribute(\PDO::ATTR_FETCH_TABLE_NAMES, true), static fn (\PDO $c) => $c->query('SELECT n FROM (SELECT 1 AS n) AS x')->fetch(\PDO::FETCH_ASSOC)],
            'profiles' => [$kind, static fn (\PDO $c) => [$c->exec('SET profiling = 1'), $c->query("SELECT 'secret'")->fetchAll()], static fn (\PDO $c) => $c->query('SHOW PROFILES')->fetchAll()],
            'found rows' => [$kind, static fn (\PDO $c) => $c->query('SELECT 1 UNION SELECT 2')->fetchAll(), static fn (\PDO $c) => $c->query('SELECT FOUND_ROWS()')->fetchColumn()],
            'last id after a query' => [$kind, static fn (\PDO $c) => $c->exec('INSERT INTO first (n) VALUES (1)'), static fn (\PDO $c) => [$c->query('SELECT 1')->fetchAll(), $c->query('SELECT LAST_INSERT_ID()')->fetchColumn(), $c->lastInsertId()]],
        ];
    }

    private static function ofPostgresql(string $kind): array
    {
        return [
            'notification' => [$kind, static fn (\PDO $c) => [$c->exec('LISTEN first'), $c->exec("NOTIFY first, 'secret'")], static fn (\PDO $c) => $c->pgsqlGetNotify(\PDO::FETCH_ASSOC)],
            'stringify' => [$kind, static fn (\PDO $c) => $c->setAttribute(\PDO::ATTR_STRINGIFY_FETCHES, true), static fn (\PDO $c) => $c->query('SELECT 1')->fetchColumn()],
            'last id after a query' => [$kind, static fn (\PDO $c) => $c->exec('INSERT INTO first (n) VALUES (1)'), static fn (\PDO $c) => [$c->query('SELECT 1')->fetchAll(), self::error(static fn () => $c->lastInsertId())]],
            'last id in SQL after a query' => [$kind, static fn (\PDO $c) => $c->exec('INSERT INTO first (n) VALUES (1)'), static fn (\PDO $c) => [$c->query('SELECT 1')->fetchAll(), self::error(static fn () => $c->query('SELECT lastval()'))]],
        ];
    }

    private static function ofSqlite(string $kind): array
    {
        $row = static fn (\PDO $c) => $c->query('SELECT first.n FROM first LIMIT 1')->fetch(\PDO::FETCH_ASSOC);
        $insert = static fn (\PDO $c) => $c->exec("INSERT INTO first VALUES (1), (2)");

        return [
            'names of columns' => [$kind, static fn (\PDO $c) => $c->exec('PRAGMA full_column_names = 1; PRAGMA short_column_names = 0'), $row],
            'size' => [$kind, static fn (\PDO $c) => $c->exec('PRAGMA max_page_count = 1'), static fn (\PDO $c) => $c->query('PRAGMA max_page_count')->fetchColumn()],
            'case of LIKE' => [$kind, static fn (\PDO $c) => $c->exec('PRAGMA case_sensitive_like = 1'), static fn (\PDO $c) => $c->query("SELECT 'a' LIKE 'A'")->fetchColumn()],
            'stringify' => [$kind, static fn (\PDO $c) => $c->setAttribute(\PDO::ATTR_STRINGIFY_FETCHES, true), static fn (\PDO $c) => $c->query('SELECT 1')->fetchColumn()],
            'last id' => [$kind, $insert, static fn (\PDO $c) => $c->lastInsertId()],
            'last id after a query' => [$kind, $insert, static fn (\PDO $c) => [$c->query('SELECT 1')->fetchAll(), $c->lastInsertId(), $c->query('SELECT last_insert_rowid()')->fetchColumn()]],
        ];
    }

    /** @return iterable<string, array{string, \Closure(object): mixed, \Closure(object): mixed}> */
    public static function looks(): iterable
    {
        $all = ['mysqli' => self::ofMysqli(), 'pgsql' => self::ofPgsql()];
        foreach (['Pdo', 'PDO'] as $class) {
            $all += ["$class MariaDB" => self::ofMariadb("$class MariaDB"), "$class PostgreSQL" => self::ofPostgresql("$class PostgreSQL"), "$class SQLite" => self::ofSqlite("$class SQLite")];
        }
        unset($all['PDO PostgreSQL']['last id in SQL after a query']);
        $all['PDO SQLite'] += [
            'function' => ['PDO SQLite', static fn (\PDO $c) => $c->sqliteCreateFunction('known', static fn () => 'secret'), static fn (\PDO $c) => $c->query('SELECT known()')->fetchColumn()],
            'collation' => ['PDO SQLite', static fn (\PDO $c) => $c->sqliteCreateCollation('known', static fn ($a, $b) => \strcmp($b, $a)), static fn (\PDO $c) => $c->query("SELECT 'a' < 'b' COLLATE known")->fetchColumn()],
        ];
        foreach ($all as $kind => $looks) {
            foreach ($looks as $what => $look) {
                yield "$kind: $what" => $look;
            }
            if (\strtolower(\substr($kind, 0, 3)) === 'pdo') {
                yield "$kind: error" => [$kind, static fn (\PDO $c) => self::error(static fn () => $c->exec('secret')), static function (\PDO $c): array {
                    $c->beginTransaction();
                    $error = [$c->errorInfo(), $c->errorCode()];
                    $c->rollBack();

                    return [$error[0][2] ?? null, $error[1] ?? '00000'];
                }];
                yield "$kind: error at once" => [$kind, static fn (\PDO $c) => self::error(static fn () => $c->exec('secret')), static fn (\PDO $c) => $c->errorInfo()[2] ?? null];
            }
        }
    }

    private static function error(\Closure $call): string
    {
        try {
            $call();

            return 'none';
        } catch (\PDOException | \mysqli_sql_exception $error) {
            return $error->getMessage();
        }
    }

    /** @dataProvider looks */
    public function testANewLeaseSeesNothingOfTheOneBefore(string $kind, \Closure $do, \Closure $look): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the server: COM_RESET_CONNECTION, and what the client keeps');
        }
        self::prepare();
        $this->inTask(static function () use ($kind, $do, $look): void {
            $logger = new ListLogger();
            $make = static fn () => self::pools()[$kind](size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: $logger);
            $in = static fn (object $pool, \Closure $use) => async(static fn () => $pool instanceof Pool ? $pool->with($use) : $use($pool))->await();
            [$fresh, $pool] = [$make(), $make()];
            $clean = $in($fresh, $look);
            $in($pool, static function (object $connection) use ($do): void {
                $do($connection);
            });
            self::assertSame($clean, $in($pool, $look), \json_encode($logger->lines));
            ($fresh instanceof Pool ? $fresh : $fresh->pool())->close();
            ($pool instanceof Pool ? $pool : $pool->pool())->close();
        });
    }

    private static function prepare(): void
    {
        $mariadb = new \PDO(...Services::mariadb());
        foreach (['CREATE OR REPLACE TABLE first (id INT AUTO_INCREMENT PRIMARY KEY, n INT)', 'CREATE OR REPLACE USER first@localhost', 'GRANT ALL ON test.* TO first@localhost'] as $sql) {
            $mariadb->exec($sql);
        }
        (new \PDO(...Services::postgresql()))->exec('DROP TABLE IF EXISTS first; CREATE TABLE first (id SERIAL PRIMARY KEY, n INT)');
        $file = \sys_get_temp_dir() . '/hearth-first-' . \getmypid() . '.sqlite';
        $files = [$file, self::trace()];
        \array_map(static fn (string $file) => \is_file($file) && \unlink($file), $files);
        (new \PDO("sqlite:$file"))->exec('CREATE TABLE first (n INT); INSERT INTO first VALUES (1)');
        \register_shutdown_function(static fn () => \array_map(static fn (string $file) => \is_file($file) && \unlink($file), $files));
    }

    /** SQLite has no way back to 0, so from the first question on each connection that has written is closed after its lease. */
    public function testChangesOfSqliteAreOfTheirLeaseOnceTheyWereAskedFor(): void
    {
        self::prepare();
        $this->inTask(static function (): void {
            $pdo = self::pools()['Pdo SQLite'](size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: new ListLogger());
            $changes = static fn () => $pdo->query('SELECT changes(), total_changes()')->fetch(\PDO::FETCH_NUM);
            self::assertSame([0, 0], async($changes)->await());
            self::assertSame([2, 2], async(static fn () => $pdo->exec('INSERT INTO first VALUES (1), (2)') ? $changes() : [])->await());
            self::assertSame([0, 0], async($changes)->await());
            $pdo->pool()->close();
        });
    }

    /** A statement with rows left keeps SQLite's snapshot of the database. */
    public function testTheNextLeaseOfSqliteReadsWhatTheDatabaseHasNow(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the server: which statements a connection has');
        }
        self::prepare();
        $other = new \PDO('sqlite:' . \sys_get_temp_dir() . '/hearth-first-' . \getmypid() . '.sqlite');
        $other->exec('PRAGMA journal_mode = WAL; INSERT INTO first VALUES (1), (2)');
        $count = static fn (\PDO $pdo) => (int) $pdo->query('SELECT COUNT(*) FROM first')->fetchColumn();
        $insert = static fn (\PDO $pdo) => $pdo->exec('INSERT INTO first VALUES (4)');
        foreach (['auto', 'transaction'] as $reset) {
            $this->inTask(static function () use ($reset, $other, $count, $insert): void {
                $pool = self::pools()['PDO SQLite'](size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, reset: $reset, logger: new ListLogger());
                $rows = async(static fn () => $pool->with(static function (\PDO $pdo): \PDOStatement {
                    $rows = $pdo->query('SELECT n FROM first');
                    $rows->fetch();

                    return $rows;
                }))->await();
                $other->exec('INSERT INTO first VALUES (3)');
                self::assertSame($count($other), async(static fn () => $pool->with($count))->await(), $reset);
                self::assertSame(1, async(static fn () => $pool->with($insert))->await(), $reset);
                self::assertFalse(async(static fn () => $pool->with(static fn () => $rows->fetch()))->await(), 'the cursor is closed');
                self::assertSame(1, $pool->stats()['created'], $reset);
                $rows = null;
                $pool->close();
            });
        }
    }
}
