<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\BorrowTimeout;
use Hearth\Pool\Pdo;
use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\TestCase;

use function Hearth\async;
use function Hearth\parallel;

/** What `Hearth\Pool\Pdo` promises, against a real database. */
abstract class PdoTestCase extends TestCase
{
    use BrokenConnections;
    use HandOver;
    use Interruptions;
    use Leftovers;
    use Libraries;

    protected ListLogger $logger;

    /** @var list<Pool> */
    private array $pools = [];

    /** @return array{string, string, string} DSN, user, password */
    abstract protected static function database(): array;

    /** SQL of the id of the current session. */
    abstract protected static function sessionId(): string;

    /** SQL that ends a session. */
    abstract protected static function kill(string $session): string;

    /** SQL that counts the sessions of this number. */
    abstract protected static function countSession(string $session): string;

    /** Until the database has closed it. */
    private static function killSession(string $session): void
    {
        $plain = self::plain();
        $plain->exec(static::kill($session));
        self::until(static fn (): bool => 0 === (int) $plain->query(static::countSession($session))->fetchColumn());
    }

    /** @return array<string, array{string, string}> what changes a session, and a query that shows it */
    abstract protected static function sessionChanges(): array;

    protected function setUp(): void
    {
        $this->logger = new ListLogger();
        // Started here, not by a factory, whose time is limited.
        static::database();
    }

    protected function tearDown(): void
    {
        foreach ($this->pools as $pool) {
            $pool->close();
        }
        $this->pools = [];
    }

    protected function pdo(mixed ...$options): Pdo
    {
        [$dsn, $user, $password] = static::database();
        $attributes = $options['attributes'] ?? null;
        unset($options['attributes']);
        // A database that the machine keeps from running is no failure.
        $options += ['size' => 2, 'minimumIdle' => 0, 'borrowTimeout' => 10.0, 'returnTimeout' => 10.0, 'logger' => $this->logger];
        $pdo = new Pdo($dsn, $user, $password, $attributes, ...$options);
        $this->pools[] = $pdo->pool();

        return $pdo;
    }

    /** A plain connection beside the pool. */
    protected static function plain(): \PDO
    {
        return new \PDO(...static::database());
    }

    protected static function table(string $name): void
    {
        self::plain()->exec("DROP TABLE IF EXISTS $name");
        self::plain()->exec("CREATE TABLE $name (id INT PRIMARY KEY, n INT NOT NULL)");
    }

    /** Waits until connections that are being reset are back. */
    protected static function settle(Pool $pool): void
    {
        for ($i = 0; $pool->stats()['idle'] + $pool->stats()['active'] < $pool->stats()['total'] && $i < 200; ++$i) {
            self::pause(0.005);
        }
    }

    public function testEachTaskHasItsOwnConnectionUntilItEnds(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $session = fn () => $pdo->query(static::sessionId())->fetchColumn();
            self::assertInstanceOf(\PDO::class, $pdo);
            $mine = $session();
            self::assertSame($mine, $session());
            self::assertSame($mine, \Hearth\timeout(1.0, $session));
            self::assertNotSame($mine, async($session)->await());
            self::assertSame(1, $pdo->pool()->stats()['active']);
        });
    }

    public function testTransactionsOfTasksDoNotMix(): void
    {
        self::table('accounts');
        self::plain()->exec('INSERT INTO accounts VALUES (1, 0), (2, 0)');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 8, borrowTimeout: 60);
            parallel(\array_map(fn (int $i) => function () use ($pdo, $i): void {
                $rollsBack = $i % 3 === 0;
                $pdo->beginTransaction();
                self::assertTrue($pdo->inTransaction());
                if ($rollsBack) {
                    self::pause(\mt_rand(0, 3) / 1000);
                    $pdo->rollBack();

                    return;
                }
                // A shim's task cannot wait inside the database: it must not be switched away from while it holds a row.
                $pdo->exec('UPDATE accounts SET n = n + 1 WHERE id = 1');
                $pdo->exec('UPDATE accounts SET n = n - 1 WHERE id = 2');
                $pdo->commit();
                self::pause(\mt_rand(0, 3) / 1000);
                self::assertFalse($pdo->inTransaction());
            }, \range(1, 300)));
        });
        self::assertSame([200, -200], \array_map('intval', self::plain()->query('SELECT n FROM accounts ORDER BY id')->fetchAll(\PDO::FETCH_COLUMN)));
    }

    /** A statement keeps its connection open, and with it the transaction that its lease left. */
    public function testWhatCodeKeepsOfAClosedConnectionHoldsNoLocks(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the native part');
        }
        self::table('held');
        self::plain()->exec('INSERT INTO held VALUES (1, 0)');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            $kept = async(function () use ($pdo): \PDOStatement {
                $statement = $pdo->query('SELECT 1');
                $statement->fetchAll();
                $pdo->beginTransaction();
                $pdo->exec('UPDATE held SET n = 1 WHERE id = 1');
                $pdo->pool()->recycle();

                return $statement;
            })->await();
            $other = self::plain();
            self::assertSame(0, (int) self::whenFree(fn () => $other->query('SELECT n FROM held WHERE id = 1 FOR UPDATE NOWAIT')->fetchColumn()));
            self::assertSame(0, $pdo->pool()->stats()['lingering']);
            self::assertSame(1, (int) $pdo->query('SELECT 1')->fetchColumn(), 'its place was not given free');
            $this->thrown(\PDOException::class, fn () => $kept->execute());
        });
    }

    /** What $query answers once no lock is in its way. */
    private static function whenFree(\Closure $query): mixed
    {
        for ($tries = 0; ; ++$tries) {
            try {
                return $query();
            } catch (\PDOException $error) {
                if ($tries === 200) {
                    throw $error;
                }
                self::pause(0.01);
            }
        }
    }

    /** Until the next connection is made, the pool knows nothing of its connections; that must not stay so. */
    public function testAFailureAfterRecycleCostsNoReset(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            $session = fn () => $pdo->query(static::sessionId())->fetchColumn();
            async(function () use ($pdo): void {
                $pdo->query('SELECT 1')->fetchAll();
                $pdo->pool()->recycle();
                $this->thrown(\RuntimeException::class, fn () => $pdo->pool()->with(fn () => throw new \RuntimeException('planned')));
            })->await();
            $first = async(function () use ($pdo, $session): mixed {
                $pdo->beginTransaction();

                return $session();
            })->await();
            self::settle($pdo->pool());
            async(function () use ($pdo, $session, $first): void {
                self::assertSame($first, $session());
                self::assertFalse($pdo->inTransaction(), 'an open transaction was lent');
            })->await();
            self::assertSame(1, $pdo->pool()->stats()['rollbacks']);
        });
    }

    public function testInTransactionBorrowsNothing(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            self::assertFalse($pdo->inTransaction());
            self::assertSame(0, $pdo->pool()->stats()['created']);
        });
    }

    /** Swoole's PDOPool hands it to the next borrower. */
    public function testOpenTransactionIsRolledBackAndReported(): void
    {
        self::table('leftovers');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            foreach (['START TRANSACTION', null] as $i => $sql) {
                async(function () use ($pdo, $sql, $i): void {
                    $sql === null ? $pdo->beginTransaction() : $pdo->exec($sql);
                    $pdo->exec("INSERT INTO leftovers VALUES ($i, 0)");
                })->await();
                async(function () use ($pdo): void {
                    self::assertFalse($pdo->inTransaction());
                    self::assertSame(0, (int) $pdo->query('SELECT COUNT(*) FROM leftovers')->fetchColumn());
                })->await();
            }
            self::assertSame(2, $pdo->pool()->stats()['rollbacks']);
            self::assertTrue($this->logger->has('transaction open'));
            self::assertSame(1, $pdo->pool()->stats()['created']);
        });
    }

    public function testChangedSessionStateDoesNotReachTheNextBorrower(): void
    {
        $this->inTask(function (): void {
            foreach (static::sessionChanges() as $what => [$change, $show]) {
                $pdo = $this->pdo(size: 1);
                $before = async(fn () => self::shown($pdo, $show))->await();
                async(function () use ($pdo, $change, $show, $before, $what): void {
                    $pdo->exec($change);
                    self::assertNotSame($before, self::shown($pdo, $show), "$what: not changed");
                })->await();
                self::assertSame($before, async(fn () => self::shown($pdo, $show))->await(), $what);
                $pdo->pool()->close();
            }
        });
    }

    public function testAPlainPoolResetsToo(): void
    {
        $this->inTask(function (): void {
            if (!\function_exists('Hearth\Internal\mysqlReset') && static::class === MariadbTest::class) {
                self::markTestSkipped('needs the server: PDO cannot send COM_RESET_CONNECTION');
            }
            foreach (static::sessionChanges() as $what => [$change, $show]) {
                $pool = new Pool(fn () => self::plain(), size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
                $before = $pool->with(fn (\PDO $pdo) => self::shown($pdo, $show));
                $pool->with(fn (\PDO $pdo) => $pdo->exec($change));
                self::assertSame($before, $pool->with(fn (\PDO $pdo) => self::shown($pdo, $show)), $what);
                self::assertSame(1, $pool->stats()['created'], $what);
                $pool->close();
            }
        });
    }

    private static function shown(\PDO $pdo, string $sql): mixed
    {
        try {
            return $pdo->query($sql)->fetchColumn();
        } catch (\PDOException $error) {
            return 'SQLSTATE ' . $error->getCode();
        }
    }

    public function testPlainQueriesNeedNoReset(): void
    {
        self::table('plain');
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            async(function () use ($pdo): void {
                $pdo->exec('INSERT INTO plain VALUES (1, 1)');
                $pdo->prepare('SELECT * FROM plain WHERE id = ?')->execute([1]);
                $pdo->beginTransaction();
                $pdo->query('SELECT n FROM plain FOR UPDATE')->fetchAll();
                $pdo->commit();
            })->await();
            self::assertSame([0, 1], [$pdo->pool()->stats()['resets'], $pdo->pool()->stats()['idle']]);
        });
    }

    public function testAttributesOfATaskEndWithIt(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1, attributes: [\PDO::ATTR_DEFAULT_FETCH_MODE => \PDO::FETCH_NUM]);
            async(function () use ($pdo): void {
                $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT);
                $pdo->setAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE, \PDO::FETCH_ASSOC);
                self::assertSame(\PDO::ERRMODE_SILENT, $pdo->getAttribute(\PDO::ATTR_ERRMODE));
                self::assertFalse(@$pdo->query('SELECT nonsense FROM nowhere'));
                self::assertNotSame('00000', $pdo->errorCode());
            })->await();
            async(function () use ($pdo): void {
                self::assertSame(\PDO::ERRMODE_EXCEPTION, $pdo->getAttribute(\PDO::ATTR_ERRMODE));
                self::assertSame([0], \array_keys($pdo->query('SELECT 1 AS one')->fetch()));
            })->await();
        });
    }

    public function testStatementThatOutlivesItsLeaseCannotTouchTheConnection(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            $statement = async(function () use ($pdo) {
                $statement = $pdo->prepare('SELECT 1');
                $statement->execute();

                return $statement;
            })->await();
            foreach (['execute', 'fetch', 'fetchAll', 'fetchColumn', 'fetchObject', 'nextRowset', 'closeCursor', 'getIterator'] as $method) {
                $error = $this->thrown(\PDOException::class, fn () => $statement->$method());
                self::assertStringContainsString('went back to the pool', $error->getMessage());
            }
            unset($statement, $error);
            \gc_collect_cycles();
            self::assertSame(1, (int) async(fn () => $pdo->query('SELECT 1')->fetchColumn())->await());
        });
    }

    public function testConnectionWhosePreparedStatementLivesIsNotLentAgain(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(attributes: [\PDO::ATTR_EMULATE_PREPARES => false]);
            $kept = async(function () use ($pdo) {
                $statement = $pdo->prepare('SELECT 1');
                $statement->execute();

                return $statement;
            })->await();
            self::assertSame(['statement' => 1], $pdo->pool()->stats()['destroyed']);
            self::assertTrue($this->logger->has('outlived the lease'));
            async(fn () => $pdo->prepare('SELECT 1')->execute())->await();
            self::assertSame(1, $pdo->pool()->stats()['idle']);
            unset($kept);
        });
    }

    public function testStatementsWorkAsThoseOfPdo(): void
    {
        self::table('rows_');
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $insert = $pdo->prepare('INSERT INTO rows_ VALUES (:id, :n)');
            for ($id = 1; $id <= 3; ++$id) {
                $n = $id * 10;
                $insert->bindValue('id', $id, \PDO::PARAM_INT);
                $insert->bindParam('n', $n, \PDO::PARAM_INT);
                $insert->execute();
            }
            self::assertSame('INSERT INTO rows_ VALUES (:id, :n)', $insert->queryString);
            $select = $pdo->query('SELECT n FROM rows_ ORDER BY id', \PDO::FETCH_COLUMN, 0);
            self::assertSame([10, 20, 30], \array_map('intval', \iterator_to_array($select)));
            $select = $pdo->prepare('SELECT id, n FROM rows_ ORDER BY id');
            $select->execute();
            $select->bindColumn('n', $column, \PDO::PARAM_INT);
            self::assertTrue($select->fetch(\PDO::FETCH_BOUND));
            self::assertSame(10, $column);
            self::assertSame(2, $select->columnCount());
            self::assertEquals((object) ['id' => 2, 'n' => 20], $select->fetchObject());
            self::assertSame([3 => 30], $pdo->query('SELECT id, n FROM rows_ WHERE id = 3')->fetchAll(\PDO::FETCH_KEY_PAIR));
            self::assertSame("'it''s'", \str_replace("\\'", "''", $pdo->quote("it's")));
        });
    }

    public function testWrongPasswordOrAddressIsToldByTheException(): void
    {
        $this->inTask(function (): void {
            $pool = new Pool(fn () => new \PDO(static::database()[0] . '_no_such_database', 'nobody', 'secret'), size: 1, minimumIdle: 0, logger: $this->logger);
            $error = $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            self::assertInstanceOf(\PDOException::class, $error);
            self::assertSame($error->getPrevious()->getCode(), $error->getCode());
            self::assertStringNotContainsString('secret', $error->getMessage());
            $pool->close();
        });
    }

    public function testDroppedPdoClosesItsConnections(): void
    {
        self::table('dropped');
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $pool = \array_pop($this->pools);
            $pdo->beginTransaction();
            $pdo->exec('INSERT INTO dropped VALUES (1, 1)');
            $statement = $pdo->query('SELECT n FROM dropped');
            unset($pdo);
            self::assertSame(1, (int) $statement->fetchColumn(), 'a statement must keep its connection open');
            unset($statement);
            self::assertSame(0, $pool->stats()['total']);
            self::assertSame(0, (int) self::plain()->query('SELECT COUNT(*) FROM dropped')->fetchColumn());
            self::plain()->exec('DROP TABLE dropped');
        });
    }

    public function testAttributeThatCannotBeSetCostsNoConnection(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            async(fn () => @$pdo->setAttribute(\PDO::ATTR_CLIENT_VERSION, '1.0'))->await();
            self::assertSame([], $pdo->pool()->stats()['destroyed']);
            self::assertStringNotContainsString('Entry', \print_r(async(fn () => $pdo->query('SELECT 1'))->await(), true));
        });
    }

    public function testReleaseGivesBackEarly(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $pdo->beginTransaction();
            $this->thrown(\LogicException::class, fn () => $pdo->release());
            $pdo->commit();
            $pdo->release();
            $pdo->release();
            self::assertSame([0, 1], [$pdo->pool()->stats()['active'], $pdo->pool()->stats()['idle']]);
        });
    }

    public function testWhatAPoolCannotDoIsRefused(): void
    {
        [$dsn, $user, $password] = static::database();
        $this->thrown(\ValueError::class, fn () => new Pdo($dsn, $user, $password, [\PDO::ATTR_PERSISTENT => true]));
        $this->thrown(\ValueError::class, fn () => new Pdo($dsn, $user, $password, null, autoReturn: false));
        $this->thrown(\PDOException::class, fn () => new Pdo('nosuchdriver:x'));
        $pdo = $this->pdo();
        $this->thrown(\Error::class, fn () => clone $pdo);
    }
}
