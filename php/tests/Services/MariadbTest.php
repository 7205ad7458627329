<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pool;
use Hearth\Tests\Services;

use function Hearth\async;

final class MariadbTest extends PdoTestCase
{
    protected static function database(): array
    {
        return Services::mariadb();
    }

    protected static function sessionId(): string
    {
        return 'SELECT CONNECTION_ID()';
    }

    protected static function kill(string $session): string
    {
        return "KILL $session";
    }

    protected static function countSession(string $session): string
    {
        return "SELECT COUNT(*) FROM information_schema.processlist WHERE id = $session";
    }

    protected static function sleeping(float $seconds): string
    {
        return "SELECT 1 + SLEEP($seconds)";
    }

    protected static function asleep(): string
    {
        return "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'";
    }

    protected static function unlimited(): string
    {
        return 'SET max_statement_time = 0';
    }

    protected static function sessionChanges(): array
    {
        return [
            'autocommit' => ['SET autocommit = 0', 'SELECT @@autocommit'],
            'isolation' => ['SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE', 'SELECT @@session.tx_isolation'],
            'user variable' => ['SET @mine = 7', 'SELECT @mine'],
            'SQL mode' => ["SET sql_mode = 'ANSI'", 'SELECT @@sql_mode'],
            'time zone' => ["SET time_zone = '+03:00'", 'SELECT @@time_zone'],
            'temporary table' => ['CREATE TEMPORARY TABLE mine (a INT)', 'SELECT COUNT(*) FROM mine'],
            'lock' => ["DO GET_LOCK('mine', 0)", "SELECT COALESCE(IS_USED_LOCK('mine'), 0) = CONNECTION_ID()"],
            'database' => ['USE information_schema', 'SELECT DATABASE()'],
            'names' => ['SET NAMES latin1', 'SELECT @@character_set_client'],
        ];
    }

    protected static function doctrineDriver(\PDO $pdo): \Doctrine\DBAL\Driver
    {
        return new class($pdo) extends \Doctrine\DBAL\Driver\AbstractMySQLDriver {
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
        return \Illuminate\Database\MySqlConnection::class;
    }

    public function testLastInsertIdStaysWithItsTask(): void
    {
        self::plain()->exec('CREATE OR REPLACE TABLE numbered (id INT AUTO_INCREMENT PRIMARY KEY, n INT)');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            async(function () use ($pdo): void {
                $pdo->exec('INSERT INTO numbered (n) VALUES (1)');
                self::assertSame('1', $pdo->lastInsertId());
            })->await();
            async(function () use ($pdo): void {
                self::assertSame('0', $pdo->lastInsertId(), 'the id of the insert of another task');
                $pdo->exec('INSERT INTO numbered (n) VALUES (1)');
                self::assertSame('2', $pdo->lastInsertId());
            })->await();
        });
    }

    /** It asks in SQL for what an insert of another task has left. */
    public function testWhatASessionRemembersStaysWithItsTask(): void
    {
        self::plain()->exec('CREATE OR REPLACE TABLE remembered (id INT AUTO_INCREMENT PRIMARY KEY, n INT)');
        $this->needsNative();
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            for ($n = 0; $n < 3; ++$n) {
                async(fn () => $pdo->exec('INSERT INTO remembered (n) VALUES (1)'))->await();
                self::assertSame(0, (int) async(fn () => $pdo->query('SELECT LAST_INSERT_ID()')->fetchColumn())->await());
                async(fn () => $pdo->query("SELECT 'a' + 1")->fetchAll())->await();
                self::assertSame([], async(fn () => $pdo->query('SHOW WARNINGS')->fetchAll())->await());
            }
            self::assertSame(1, $pdo->pool()->stats()['created']);
        });
    }

    public function testAMistakeOfTheAppCostsNoTransaction(): void
    {
        self::table('mistaken');
        $this->inTask(function (): void {
            $pdo = $this->pdo(attributes: [\PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
            $pdo->beginTransaction();
            $pdo->exec('INSERT INTO mistaken VALUES (1, 1)');
            $open = $pdo->query('SELECT 1 UNION SELECT 2');
            $error = $this->thrown(\PDOException::class, fn () => $pdo->query('SELECT 3'));
            self::assertSame(2014, $error->errorInfo[1]);
            $open->closeCursor();
            $pdo->exec('INSERT INTO mistaken VALUES (2, 2)');
            $pdo->commit();
            self::assertSame(2, (int) self::plain()->query('SELECT COUNT(*) FROM mistaken')->fetchColumn());
        });
    }

    /** Some session variables are the account's, and cannot be set. */
    public function testAnAccountWithALimitOfConnections(): void
    {
        [$dsn] = self::database();
        self::plain()->exec('CREATE OR REPLACE USER limited@localhost WITH MAX_USER_CONNECTIONS 5');
        self::plain()->exec('GRANT ALL ON test.* TO limited@localhost');
        $this->inTask(function () use ($dsn): void {
            $pdo = new \Hearth\Pool\Pdo($dsn, 'limited', '', size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: $this->logger);
            async(fn () => $pdo->exec('SET time_zone = \'+01:00\''))->await();
            self::assertSame('SYSTEM', async(fn () => $pdo->query('SELECT @@time_zone')->fetchColumn())->await());
            $pdo->pool()->close();
        });
    }

    public function testACollationOfTheInitCommandIsSetAgain(): void
    {
        $this->needsNative();
        [$dsn, $user, $password] = self::database();
        $this->inTask(function () use ($dsn, $user, $password): void {
            foreach (['SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_ci', "SET collation_connection = 'latin1_german2_ci'"] as $init) {
                $pdo = new \Hearth\Pool\Pdo(\str_replace(';charset=utf8mb4', '', $dsn), $user, $password, [\PDO::MYSQL_ATTR_INIT_COMMAND => $init],
                    size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: $this->logger);
                $looks = static fn () => \implode(' ', $pdo->query('SELECT @@character_set_client, @@character_set_connection, @@collation_connection')->fetch(\PDO::FETCH_NUM));
                $before = async($looks)->await();
                async(fn () => $pdo->exec('SET NAMES latin1'))->await();
                self::assertSame($before, async($looks)->await());
                self::assertSame(1, $pdo->pool()->stats()['created']);
                $pdo->pool()->close();
            }
        });
    }

    public function testUnfetchedRowsDoNotReachTheNextBorrower(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1, attributes: [\PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
            $kept = async(function () use ($pdo) {
                $statement = $pdo->query('SELECT 1 UNION SELECT 2');
                $statement->fetch();

                return $statement;
            })->await();
            self::assertSame(['statement' => 1], $pdo->pool()->stats()['destroyed']);
            unset($kept);
            self::assertSame(3, (int) async(fn () => $pdo->query('SELECT 3')->fetchColumn())->await());
        });
    }

    public function testWhatTheFactorySetsIsSetAgainAfterAReset(): void
    {
        if (!\function_exists('Hearth\Internal\mysqlReset')) {
            self::markTestSkipped('needs the server: PDO cannot send COM_RESET_CONNECTION');
        }
        $this->inTask(function (): void {
            $pool = new Pool(function (): \PDO {
                $pdo = self::plain();
                $pdo->exec("SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES,NO_ZERO_DATE', wait_timeout = 1234");

                return $pdo;
            }, size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
            $show = fn (\PDO $pdo) => $pdo->query('SELECT @@time_zone, @@sql_mode, @@wait_timeout, @@autocommit, @mine')->fetch(\PDO::FETCH_NUM);
            $expected = $pool->with($show);
            self::assertSame(['+05:00', 'ANSI_QUOTES,NO_ZERO_DATE', 1234, 1, null], $expected);
            $pool->with(fn (\PDO $pdo) => $pdo->exec("SET time_zone = '-01:00', sql_mode = '', autocommit = 0, @mine = 1"));
            self::assertSame($expected, $pool->with($show));
            self::assertSame(1, $pool->stats()['created']);
            $pool->close();
        });
    }

    public function testAliveAgainAfterTheDatabaseCrashed(): void
    {
        $database = self::database();
        $this->inTask(function () use ($database): void {
            $pool = new Pool(
                function () use (&$database): \PDO {
                    return new \PDO(...$database);
                },
                size: 3,
                minimumIdle: 0,
                borrowTimeout: 10,
                returnTimeout: 10,
                logger: $this->logger,
                checkAfter: 0.0,
            );
            $pool->with(fn (\PDO $pdo) => $pdo->query('SELECT 1')->fetchAll());
            self::settle($pool);
            self::pause(0.01);
            Services::kill('mariadb');
            $this->thrown(\PDOException::class, fn () => $pool->borrow());
            $database = self::database();
            self::pause(6.0);
            self::assertSame(1, (int) $pool->with(fn (\PDO $pdo) => $pdo->query('SELECT 1')->fetchColumn()));
            self::assertSame(1, $pool->stats()['destroyed']['broken']);
            $pool->close();
        });
    }

    public function testADatabaseThatIsSlowToAcceptHoldsUpOnlyWhoNeedsIt(): void
    {
        [$dsn, $user, $password] = self::database();
        $this->inTask(function () use ($dsn, $user, $password): void {
            $pool = new Pool(fn () => new \PDO($dsn, $user, $password), size: 2, minimumIdle: 0, connectTimeout: 5.0, borrowTimeout: 5.0, reset: 'none');
            $first = $pool->borrow();
            $began = \microtime(true);
            Services::freeze('mariadb', 0.4);
            $second = async(fn () => $pool->with(fn (\PDO $pdo) => $pdo->query('SELECT 1')->fetchColumn()));
            // It needs no new connection: the one given back serves it, though it wanted to make one.
            $pool->giveBack($first);
            self::assertEquals(1, $second->await());
            self::assertGreaterThan(0.3, \microtime(true) - $began, 'the database was not slow');
            self::assertLessThanOrEqual(2, $pool->stats()['total']);
            self::assertSame(0, $pool->stats()['timeouts']);
            $pool->close();
        });
    }

    public function testAnAttemptToConnectThatTakesTooLongIsGivenUpAndCostsNoPlace(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs connects that wait as tasks');
        }
        [$dsn, $user, $password] = self::database();
        $this->inTask(function () use ($dsn, $user, $password): void {
            $pool = new Pool(fn () => new \PDO($dsn, $user, $password), size: 1, minimumIdle: 0, connectTimeout: 1.5, borrowTimeout: 20.0, returnTimeout: 10.0, logger: $this->logger);
            Services::freeze('mariadb');
            async(function () use ($pool): void {
                self::until(fn () => $pool->stats()['failedConnects'] > 0);
                Services::thaw('mariadb');
            });
            $ticks = 0;
            $clock = \Hearth\every(0.02, function () use (&$ticks): void {
                ++$ticks;
            });
            self::assertEquals(1, $pool->with(fn (\PDO $pdo) => $pdo->query('SELECT 1')->fetchColumn()));
            $clock->stop();
            self::assertGreaterThan(5, $ticks, 'others were held up');
            self::assertGreaterThan(0, $pool->stats()['failedConnects']);
            self::assertTrue($this->logger->has('longer than connectTimeout (1.5 s)'), \implode("\n", $this->logger->lines));
            self::assertSame(1, $pool->stats()['total']);
            $pool->close();
        });
    }

    public function testARotatedPasswordIsAskedForAgain(): void
    {
        [$dsn] = self::database();
        $admin = self::plain();
        $admin->exec("CREATE OR REPLACE USER rotating@localhost IDENTIFIED BY 'first secret'");
        $admin->exec('GRANT ALL ON test.* TO rotating@localhost');
        $this->inTask(function () use ($dsn, $admin): void {
            $secret = 'first secret';
            $asked = 0;
            $pdo = new \Hearth\Pool\Pdo($dsn, 'rotating', function () use (&$secret, &$asked): string {
                ++$asked;

                return $secret;
            }, size: 1, minimumIdle: 0, borrowTimeout: 2.0, returnTimeout: 10.0, logger: $this->logger);
            $user = fn () => async(fn () => $pdo->query('SELECT USER()')->fetchColumn())->await();
            self::assertSame('rotating@localhost', $user());
            $admin->exec("ALTER USER rotating@localhost IDENTIFIED BY 'second secret'");
            self::assertSame('rotating@localhost', $user(), 'open connections stay');
            $pdo->pool()->recycle();
            $refused = $this->thrown(\PDOException::class, $user);
            self::assertStringContainsString('Access denied', $refused->getMessage());
            self::assertStringNotContainsString('first secret', $refused->getMessage());
            $secret = 'second secret';
            $until = \microtime(true) + 10;
            do {
                try {
                    $found = $user();
                } catch (\PDOException) {
                    self::pause(0.05);
                }
            } while (!isset($found) && \microtime(true) < $until);
            self::assertSame('rotating@localhost', $found ?? null, 'it recovers by itself');
            self::assertGreaterThanOrEqual(3, $asked);
            $pdo->pool()->close();
        });
    }

    public function testTheDatabaseNeverSeesMoreThanTheTotal(): void
    {
        $this->inTask(function (): void {
            $watch = new Pool(fn () => self::plain(), size: 1, minimumIdle: 0, borrowTimeout: 60, reset: 'none');
            $pools = [];
            $name = 'total ' . \random_int(0, \PHP_INT_MAX);
            for ($worker = 0; $worker < 4; ++$worker) {
                $pools[] = $this->pdo(size: 20, total: 20, name: $name, borrowTimeout: 60);
            }
            $seen = (object) ['most' => 0];
            \Hearth\parallel(\array_map(fn (int $i) => function () use ($pools, $i, $watch, $seen): void {
                $pools[$i % 4]->query('SELECT 1')->fetchAll();
                $watch->with(function (\PDO $watch) use ($seen): void {
                    $sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND != 'Daemon'";
                    $seen->most = \max($seen->most, (int) $watch->query($sql)->fetchColumn() - 1);
                });
                self::pause(\mt_rand(0, 5) / 1000);
            }, \range(1, 400)));
            self::assertLessThanOrEqual(20, $seen->most);
            self::assertGreaterThanOrEqual(15, $seen->most);
            $watch->close();
        });
    }

    /** The database goes on with a query although its client has hung up, and counts the connection so long. */
    public function testCancelledQueriesCountForTheTotalUntilTheDatabaseIsDoneWithThem(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the native part');
        }
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 4, total: 4, name: 'cancelled ' . \random_int(0, \PHP_INT_MAX), borrowTimeout: 60);
            $watch = self::plain();
            $sql = 'SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND != \'Daemon\' AND ID != CONNECTION_ID()';
            $tasks = \array_map(fn () => async(fn () => $pdo->query('SELECT SLEEP(0.5)')->fetchAll()), \range(1, 4));
            self::eventually(4, fn () => (int) $watch->query("$sql AND STATE = 'User sleep'")->fetchColumn());
            \array_map(static fn ($task) => $task->cancel(), $tasks);
            \array_map(fn ($task) => $this->thrown(\Throwable::class, fn () => $task->await()), $tasks);
            self::assertSame([4, 4], [$pdo->pool()->stats()['total'], $pdo->pool()->stats()['lingering']]);
            $next = async(fn () => $pdo->query('SELECT 1')->fetchColumn());
            self::pause(0.1);
            self::assertSame(4, (int) $watch->query($sql)->fetchColumn());
            self::assertFalse($next->isDone(), 'a fifth connection was made while the database was at work on four');
            self::assertSame('1', (string) $next->await());
            self::assertLessThanOrEqual(4, (int) $watch->query($sql)->fetchColumn());
            self::eventually(0, fn () => $pdo->pool()->stats()['lingering']);
        });
    }

    private static function eventually(int $expected, \Closure $value): void
    {
        for ($tries = 0; $value() !== $expected && $tries < 400; ++$tries) {
            self::pause(0.005);
        }
        self::assertSame($expected, $value());
    }
}
