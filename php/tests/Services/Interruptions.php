<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pool;
use Hearth\TimeoutError;

use function Hearth\async;
use function Hearth\timeout;

/** A wait that `timeout()` or `cancel()` ends early breaks the connection that was waited for, and no other. */
trait Interruptions
{
    /** Accepts and never answers. */
    private static mixed $silent = null;

    private static function silence(): string
    {
        self::$silent ??= \stream_socket_server('tcp://127.0.0.1:0');

        return \stream_socket_get_name(self::$silent, false);
    }

    /** SQL that takes that many seconds and then answers 1. */
    abstract protected static function sleeping(float $seconds): string;

    /** @return array<string, array{\Closure(self): mixed}> waits for something else than the pool's connection */
    public static function waitsElsewhere(): array
    {
        return [
            'file_get_contents()' => [static fn () => @\file_get_contents('http://' . self::silence())],
            'curl' => [static function (): void {
                $curl = \curl_init('http://' . self::silence());
                \curl_setopt($curl, \CURLOPT_RETURNTRANSFER, true);
                \curl_exec($curl);
            }],
            'a stream that is kept' => [static function (): void {
                static $kept;
                $kept = \stream_socket_client('tcp://' . self::silence());
                \fgets($kept);
            }],
            'sleep' => [static fn () => \usleep(10_000_000)],
            'another database' => [static fn (self $test) => self::plain()->query(static::sleeping(10))],
            'another pool' => [static fn (self $test) => $test->pdo(size: 1)->query(static::sleeping(10))],
            'Redis' => [static function (): void {
                static $redis;
                $redis ??= new \Redis();
                $redis->connect(\Hearth\Tests\Services::redis());
                $redis->blPop(['nothing'], 10);
            }],
        ];
    }

    protected function needsNative(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('a shim has no waits that can be cancelled inside PDO');
        }
    }

    /** @dataProvider waitsElsewhere */
    public function testAnInterruptionElsewhereLeavesTheTransactionAlone(\Closure $wait): void
    {
        $this->needsNative();
        self::table('healthy');
        \Hearth\Tests\Services::redis();
        $this->inTask(function () use ($wait): void {
            $pdo = $this->pdo(size: 1);
            $raw = new Pool(fn () => self::plain(), size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
            async(function () use ($wait, $pdo, $raw): void {
                $pdo->beginTransaction();
                $pdo->exec('INSERT INTO healthy VALUES (1, 1)');
                $db = $raw->borrow();
                $db->beginTransaction();
                $db->exec('INSERT INTO healthy VALUES (2, 2)');
                $this->thrown(TimeoutError::class, fn () => timeout(0.05, fn () => $wait($this)));
                $pdo->exec('INSERT INTO healthy VALUES (3, 3)');
                $raw->with(fn (\PDO $db) => $db->exec('INSERT INTO healthy VALUES (4, 4)'));
                $pdo->commit();
                $db->commit();
            })->await();
            self::assertSame('1,2,3,4', \implode(',', self::plain()->query('SELECT id FROM healthy ORDER BY id')->fetchAll(\PDO::FETCH_COLUMN)));
            self::settle($raw);
            self::assertSame([[], []], [$pdo->pool()->stats()['destroyed'], $raw->stats()['destroyed']]);
            $raw->close();
        });
    }

    /** A child that is cancelled while it waits elsewhere has a connection too; it is whole. */
    public function testACancelledTaskThatWaitedElsewhereGivesItsConnectionBackWhole(): void
    {
        $this->needsNative();
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1);
            $session = fn () => $pdo->query(static::sessionId())->fetchColumn();
            $mine = '';
            $task = async(function () use ($session, &$mine): void {
                $mine = $session();
                @\file_get_contents('http://' . self::silence());
            });
            self::until(static function () use (&$mine): bool {
                return $mine !== '';
            });
            $task->cancel();
            $this->thrown(\Hearth\CancelledError::class, fn () => $task->await());
            self::assertSame($mine, async($session)->await());
        });
    }

    /** The same task goes on: `borrow()` gives it another connection, and the interrupted one answers nothing. */
    public function testABorrowerWhoseQueryWasInterruptedIsNeverGivenTheAnswerLater(): void
    {
        $this->needsNative();
        $this->inTask(function (): void {
            $pool = new Pool(fn () => self::plain(), size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
            for ($n = 2; $n < 6; ++$n) {
                $first = $pool->borrow();
                $this->thrown(TimeoutError::class, fn () => timeout(0.02, fn () => $first->query(static::sleeping(0.04))->fetchColumn()));
                foreach (['query', 'prepare', 'exec'] as $method) {
                    $this->thrown(\PDOException::class, function () use ($first, $method): void {
                        $result = $first->$method('SELECT 7');
                        $result instanceof \PDOStatement && $result->execute();
                    });
                }
                $second = $pool->borrow();
                self::assertNotSame($first, $second);
                self::assertEquals($n, $second->query("SELECT $n")->fetchColumn());
                $pool->giveBack($second);
                $pool->giveBack($first);
            }
            self::assertSame([0, 1], [$pool->stats()['active'], $pool->stats()['total']]);
            $pool->close();
        });
    }

    /** One that is given back by hand after its wait was interrupted is not lent to others. */
    public function testAnInterruptedConnectionThatIsGivenBackByHandIsClosed(): void
    {
        $this->needsNative();
        $this->inTask(function (): void {
            foreach ([true, false] as $binds) {
                $pool = new Pool(fn () => self::plain(), size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, bindToTask: $binds, reset: 'none', logger: $this->logger);
                $asked = false;
                $task = async(function () use ($pool, &$asked): void {
                    $db = $pool->borrow();
                    try {
                        $asked = true;
                        $db->query(static::sleeping(0.05))->fetchColumn();
                    } catch (\Throwable) {
                    }
                    $pool->giveBack($db);
                });
                self::until(static function () use (&$asked): bool {
                    return $asked;
                });
                $task->cancel();
                $task->await();
                self::assertEquals(2, $pool->with(fn (\PDO $db) => $db->query('SELECT 2')->fetchColumn()));
                self::assertSame(['broken' => 1], $pool->stats()['destroyed']);
                $pool->close();
            }
        });
    }

    /** SQL that counts the queries of others that sleep. */
    abstract protected static function asleep(): string;

    /** The database would go on with it, and hold its locks, until it is done. */
    public function testTheQueryOfAnInterruptedTaskIsCancelledInTheDatabase(): void
    {
        $this->needsNative();
        $this->inTask(function (): void {
            $watch = self::plain();
            $asleep = static fn () => (int) $watch->query(static::asleep())->fetchColumn();
            foreach ([null, 3] as $total) {
                $pdo = $this->pdo(size: 3, total: $total, name: 'cancels ' . \random_int(0, \PHP_INT_MAX));
                $raw = new Pool(fn () => self::plain(), size: 3, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: $this->logger);
                $tasks = [
                    async(static fn () => $pdo->query(static::sleeping(30))->fetchAll()),
                    async(static fn () => $raw->with(static fn (\PDO $db) => $db->query(static::sleeping(30))->fetchAll())),
                ];
                self::until(static fn () => $asleep() === 2);
                $tasks[0]->cancel();
                $tasks[1]->cancel();
                \array_map(fn ($task) => $this->thrown(\Throwable::class, static fn () => $task->await()), $tasks);
                self::until(static fn () => $asleep() === 0);
                $late = async(static fn () => timeout(0.1, static fn () => $pdo->query(static::sleeping(30))->fetchAll()));
                $this->thrown(TimeoutError::class, static fn () => $late->await());
                self::until(static fn () => $asleep() === 0);
                self::until(static fn () => $pdo->pool()->stats()['lingering'] === 0);
                $raw->close();
            }
        });
    }

    public function testADatabaseEndsAStatementThatTakesTooLong(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1, queryTimeout: 0.05);
            for ($n = 0; $n < 2; ++$n) {
                async(function () use ($pdo): void {
                    $began = \microtime(true);
                    $this->thrown(\PDOException::class, static fn () => $pdo->query(static::sleeping(10))->fetchAll());
                    self::assertLessThan(5.0, \microtime(true) - $began);
                    self::assertSame(1, (int) $pdo->query('SELECT 1')->fetchColumn());
                    // What a task changes holds for its lease only.
                    $pdo->exec(static::unlimited());
                    self::assertSame(1, (int) $pdo->query(static::sleeping(0.1))->fetchColumn());
                })->await();
            }
        });
    }

    /** SQL that takes the limit of a session's queries away. */
    abstract protected static function unlimited(): string;
}
