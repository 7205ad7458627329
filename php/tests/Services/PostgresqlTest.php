<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pool;
use Hearth\Tests\Services;

use function Hearth\async;

final class PostgresqlTest extends PdoTestCase
{
    protected static function database(): array
    {
        return Services::postgresql();
    }

    protected static function sessionId(): string
    {
        return 'SELECT pg_backend_pid()';
    }

    protected static function kill(string $session): string
    {
        return "SELECT pg_terminate_backend($session)";
    }

    protected static function countSession(string $session): string
    {
        return "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = $session";
    }

    protected static function sleeping(float $seconds): string
    {
        return "SELECT 1 FROM (SELECT pg_sleep($seconds)) s";
    }

    protected static function asleep(): string
    {
        return "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    }

    protected static function unlimited(): string
    {
        return 'SET statement_timeout = 0';
    }

    protected static function sessionChanges(): array
    {
        return [
            'isolation' => ['SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE', 'SHOW default_transaction_isolation'],
            'search path' => ['SET search_path = pg_catalog', 'SHOW search_path'],
            'time zone' => ["SET TIME ZONE 'Asia/Tokyo'", 'SHOW timezone'],
            'temporary table' => ['CREATE TEMPORARY TABLE mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'set_config' => ["SELECT set_config('my.user', '7', false)", "SELECT coalesce(nullif(current_setting('my.user', true), ''), 'none')"],
            'advisory lock' => ['SELECT pg_advisory_lock(7)', "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"],
            'prepared' => ['PREPARE mine AS SELECT 1', 'SELECT COUNT(*) FROM pg_prepared_statements WHERE from_sql'],
            'listen' => ['LISTEN mine', 'SELECT COUNT(*) FROM pg_listening_channels()'],
        ];
    }

    protected static function doctrineDriver(\PDO $pdo): \Doctrine\DBAL\Driver
    {
        return new class($pdo) extends \Doctrine\DBAL\Driver\AbstractPostgreSQLDriver {
            public function __construct(private \PDO $pdo)
            {
            }

            public function connect(array $params): \Doctrine\DBAL\Driver\Connection
            {
                return new \Doctrine\DBAL\Driver\PDO\Connection($this->pdo);
            }
        };
    }

    protected static function eloquentConnection(): string
    {
        return \Illuminate\Database\PostgresConnection::class;
    }

    /** The end of a statement asks the server something too, and the task that waits for that can be cancelled. */
    public function testAConnectionInterruptedAtAStatementsEndIsNotLentAgain(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('a shim has no waits that can be cancelled inside PDO');
        }
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            foreach ([static fn (\Closure $fn) => $fn(), static fn (\Closure $fn) => \Hearth\timeout(10.0, $fn)] as $inside) {
                $backend = (object) ['pid' => 0];
                $task = async(static fn () => $inside(static function () use ($pdo, $backend): void {
                    $statement = $pdo->prepare('SELECT pg_backend_pid()');
                    $statement->execute();
                    $backend->pid = (int) $statement->fetchColumn();
                    \posix_kill($backend->pid, \SIGSTOP);
                    $statement = null;
                }));
                self::until(fn () => $backend->pid !== 0);
                $task->cancel();
                \posix_kill($backend->pid, \SIGCONT);
                $this->thrown(\Hearth\CancelledError::class, fn () => $task->await());
                foreach ([1, 2] as $n) {
                    self::assertEquals($n, async(fn () => $pdo->query("SELECT $n")->fetchColumn())->await(), 'an answer to another question');
                }
            }
            self::assertSame(['broken' => 2], $pdo->pool()->stats()['destroyed']);
        });
    }

    /** It goes on, so that it needs another connection, whatever else its own was to be closed for. */
    public function testATaskWhoseTimeoutInterruptedAStatementsEndGetsAnotherConnection(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('a shim has no waits that can be cancelled inside PDO');
        }
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 2);
            foreach ([static fn () => null, static fn () => $pdo->pool()->recycle()] as $meanwhile) {
                async(function () use ($pdo, $meanwhile): void {
                    $backend = (object) ['pid' => 0];
                    $kept = $pdo->prepare("SELECT 'kept'");
                    $kept->execute();
                    $this->thrown(\Hearth\TimeoutError::class, static fn () => \Hearth\timeout(0.1, static function () use ($pdo, $backend, $meanwhile): void {
                        $statement = $pdo->prepare('SELECT pg_backend_pid()');
                        $statement->execute();
                        $backend->pid = (int) $statement->fetchColumn();
                        $meanwhile();
                        \posix_kill($backend->pid, \SIGSTOP);
                        $statement = null;
                    }));
                    \posix_kill($backend->pid, \SIGCONT);
                    $refused = $this->thrown(\PDOException::class, static fn () => $kept->execute());
                    self::assertStringContainsString('broke', $refused->getMessage());
                    foreach ([1, 2] as $n) {
                        self::assertEquals($n, $pdo->query("SELECT $n")->fetchColumn(), 'an answer to another question');
                    }
                    $this->thrown(\PDOException::class, static fn () => $kept->execute());
                })->await();
            }
        });
    }

    public function testWhatTheFactorySetsIsSetAgainAfterAReset(): void
    {
        $this->inTask(function (): void {
            $pool = new Pool(function (): \PDO {
                $pdo = self::plain();
                $pdo->exec("SET TIME ZONE 'Asia/Tokyo'; SET search_path = pg_catalog, public; SET statement_timeout = 4321");

                return $pdo;
            }, size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
            $show = fn (\PDO $pdo) => \array_map(
                fn (string $name) => $pdo->query("SHOW $name")->fetchColumn(),
                ['timezone', 'search_path', 'statement_timeout', 'client_encoding'],
            );
            $expected = $pool->with($show);
            self::assertSame(['Asia/Tokyo', 'pg_catalog, public', '4321ms', 'UTF8'], $expected);
            $pool->with(fn (\PDO $pdo) => $pdo->exec("SET TIME ZONE 'UTC'; SET search_path = public; RESET statement_timeout"));
            self::assertSame($expected, $pool->with($show));
            self::assertSame(1, $pool->stats()['created']);
            $pool->close();
        });
    }

    /** @return iterable<string, array{\Closure(): object}> factories whose sessions have my.tenant = 7 */
    public static function factoriesWithACustomSetting(): iterable
    {
        $pdo = static fn (\Closure $set): \Closure => static function () use ($set): \PDO {
            $pdo = self::plain();
            $set($pdo);

            return $pdo;
        };
        yield 'SET' => [$pdo(static fn (\PDO $pdo) => $pdo->exec("SET TIME ZONE 'UTC'; SET my.tenant = '7'"))];
        yield 'SET of a quoted name' => [$pdo(static fn (\PDO $pdo) => $pdo->exec('SET SESSION "my"."tenant" TO 7'))];
        yield 'set_config()' => [$pdo(static fn (\PDO $pdo) => $pdo->query("SELECT set_config('MY.Tenant', '7', false)")->fetchAll())];
        yield 'set_config() with values' => [$pdo(static fn (\PDO $pdo) => $pdo->prepare('SELECT set_config(?, ?, false)')->execute(['my.tenant', '7']))];
        yield 'bound values' => [$pdo(static function (\PDO $pdo): void {
            $statement = $pdo->prepare('SELECT set_config(:name, :value, false)');
            $statement->bindValue('name', 'my.tenant');
            $statement->bindValue('value', '7');
            $statement->execute();
        })];
        $pgsql = static fn (\Closure $set): \Closure => static function () use ($set): \PgSql\Connection {
            [$dsn, $user] = Services::postgresql();
            $link = \pg_connect(\strtr(\substr($dsn, 6), ';', ' ') . " user=$user", \PGSQL_CONNECT_FORCE_NEW);
            $set($link);

            return $link;
        };
        yield 'pg_query()' => [$pgsql(static fn (\PgSql\Connection $link) => \pg_query($link, "SET my.tenant = '7'"))];
        yield 'pg_query_params()' => [$pgsql(static fn (\PgSql\Connection $link) => \pg_query_params($link, 'SELECT set_config($1, $2, false)', ['my.tenant', '7']))];
    }

    /** @dataProvider factoriesWithACustomSetting */
    public function testACustomSettingOfTheFactoryIsSetAgainAfterAReset(\Closure $factory): void
    {
        if (!$this->native()) {
            self::markTestSkipped('calls of extensions are seen by the server only');
        }
        $this->inTask(function () use ($factory): void {
            $pool = new Pool($factory, size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
            $rows = static fn (object $it, string $sql): array => $it instanceof \PDO ? $it->query($sql)->fetchAll(\PDO::FETCH_NUM) : \pg_fetch_all(\pg_query($it, $sql), \PGSQL_NUM);
            foreach (['8', '', '9'] as $other) {
                $pool->with(static function (object $it) use ($rows, $other): void {
                    self::assertSame([['7']], $rows($it, "SELECT current_setting('my.tenant', true)"));
                    $rows($it, "SELECT set_config('my.tenant', '$other', false)");
                });
            }
            self::assertSame(1, $pool->stats()['created']);
            $pool->close();
        });
    }

    /** It asks for the value of a sequence that another task has drawn. */
    public function testWhatASessionRemembersStaysWithItsTask(): void
    {
        self::plain()->exec('DROP TABLE IF EXISTS remembered');
        self::plain()->exec('CREATE TABLE remembered (id SERIAL PRIMARY KEY, n INT)');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            foreach ([static fn () => $pdo->lastInsertId(), static fn () => $pdo->query('SELECT lastval()'), static fn () => $pdo->query('SELECT lastval()')] as $ask) {
                async(static function () use ($pdo): void {
                    $pdo->exec('INSERT INTO remembered (n) VALUES (1)');
                    self::assertGreaterThan(0, (int) $pdo->lastInsertId());
                })->await();
                $error = $this->thrown(\PDOException::class, static fn () => async($ask)->await());
                self::assertStringContainsString('lastval is not yet defined', $error->getMessage());
            }
        });
    }

    public function testTheRandomSequenceOfATaskEndsWithIt(): void
    {
        $expected = static function (): string {
            $plain = self::plain();
            $plain->exec('SELECT setseed(0.5)');

            return (string) $plain->query('SELECT random()')->fetchColumn();
        };
        $this->inTask(function () use ($expected): void {
            $pdo = $this->pdo(size: 1);
            async(fn () => $pdo->exec('SELECT setseed(0.5)'))->await();
            self::assertNotSame($expected(), (string) async(fn () => $pdo->query('SELECT random()')->fetchColumn())->await());
            self::assertSame(1, $pdo->pool()->stats()['created']);
        });
    }

    /** Killed while idle: the server has said so, and no time needs to pass. */
    public function testAConnectionKilledWhileIdleIsReplacedAtOnce(): void
    {
        $this->needsNative();
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 4);
            $pids = \Hearth\parallel(\array_fill(0, 4, static function () use ($pdo): int {
                $pid = (int) $pdo->query(static::sessionId())->fetchColumn();
                self::pause(0.01);

                return $pid;
            }));
            $plain = self::plain();
            foreach ($pids as $pid) {
                $plain->exec("SELECT pg_terminate_backend($pid)");
            }
            self::until(static fn () => 0 === (int) $plain->query('SELECT COUNT(*) FROM pg_stat_activity WHERE pid IN (' . \implode(', ', $pids) . ')')->fetchColumn());
            self::assertSame([1, 1, 1, 1], \array_map('intval', \Hearth\parallel(\array_fill(0, 4, static fn () => $pdo->query('SELECT 1')->fetchColumn()))));
            // What an administrator changes is told to all, and no reason to close them.
            self::pause(0.01);
            $plain->exec('SELECT pg_reload_conf()');
            self::pause(0.1);
            self::assertSame(1, (int) async(static fn () => $pdo->query('SELECT 1')->fetchColumn())->await());
        });
    }

    public function testMethodsOfTheDriver(): void
    {
        self::table('copied');
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            self::assertTrue($pdo->pgsqlCopyFromArray('copied', ["1\t2", "3\t4"]));
            self::assertSame(6, (int) $pdo->query('SELECT SUM(n) FROM copied')->fetchColumn());
            self::assertIsInt($pdo->pgsqlGetPid());
        });
    }
}
