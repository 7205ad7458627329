<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\CancelledError;
use Hearth\Pool\BorrowTimeout;
use Hearth\Pool\Pool;
use Hearth\Pool\PoolClosed;
use Hearth\Tests\Fixtures\FakeConnection;
use Hearth\Tests\PoolTestCase;

use function Hearth\async;
use function Hearth\Internal\monotonic;
use function Hearth\parallel;

final class PoolFaultsTest extends PoolTestCase
{
    /** open-smf, allsilaevex: each failed connect lost a slot, until nothing was left. */
    public function testFailedConnectsNeverEatASlot(): void
    {
        $this->inTask(function (): void {
            $down = true;
            $pool = $this->pool(factory: function () use (&$down): FakeConnection {
                self::pause(0.001);

                return $down ? throw new \PDOException('down') : new FakeConnection();
            }, size: 2, borrowTimeout: 0.02);
            for ($i = 0; $i < 10; ++$i) {
                $error = $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
                self::assertSame('down', $error->getPrevious()->getMessage());
                self::assertSame(0, $pool->stats()['total'] - $pool->stats()['connecting']);
            }
            $down = false;
            self::until(fn () => $this->serves($pool));
            parallel(\array_fill(0, 4, fn () => $pool->with(fn () => self::pause(0.001), 1.0)));
            self::assertSame(2, $pool->stats()['total']);
        });
    }

    private function serves(Pool $pool): bool
    {
        try {
            return $pool->with(fn () => true, 0.02);
        } catch (BorrowTimeout) {
            return false;
        }
    }

    /** @dataProvider failures */
    public function testExceptionsOfTheFactoryNeverEscape(callable $factory, string $message): void
    {
        $this->inTask(function () use ($factory, $message): void {
            $pool = $this->pool(factory: $factory, minimumIdle: 1, borrowTimeout: 0.02);
            $error = $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            self::assertStringContainsString($message, $error->getMessage());
            self::assertTrue($this->logger->has($message));
            self::pause(1.0);
        });
    }

    public static function failures(): array
    {
        return [
            'exception' => [fn () => throw new \RuntimeException('no route'), 'no route'],
            'error' => [fn () => throw new \Error('a bug'), 'a bug'],
            'no object' => [fn () => false, 'must return an object, bool returned'],
            'the same twice' => [
                function () {
                    static $one = null;
                    static $calls = 0;

                    return ++$calls > 1 && \mt_rand(0, 0) === 0 ? throw new \RuntimeException('second call') : ($one ??= throw new \LogicException('first'));
                },
                'first',
            ],
        ];
    }

    public function testAFactoryThatReturnsTheSameObjectIsRefused(): void
    {
        $this->inTask(function (): void {
            $one = new FakeConnection();
            $pool = $this->pool(factory: fn () => $one, borrowTimeout: 0.02, bindToTask: false);
            $pool->borrow();
            $error = $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            self::assertStringContainsString('a connection that the pool has already', $error->getMessage());
        });
    }

    public function testAttemptsComeLaterAndLater(): void
    {
        $this->inTask(function (): void {
            $attempts = new \ArrayObject();
            $pool = $this->pool(factory: function () use ($attempts): never {
                $attempts[] = monotonic();
                throw new \RuntimeException('refused');
            }, minimumIdle: 1, borrowTimeout: 0.5);
            $error = $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            self::assertStringContainsString('the database cannot be reached', $error->getMessage());
            self::assertStringContainsString('refused', $error->getMessage());
            self::assertLessThanOrEqual(5, \count($attempts));
            $before = \count($attempts);
            $this->thrown(BorrowTimeout::class, fn () => $pool->borrow(2.0));
            self::assertLessThanOrEqual(10, \count($attempts) - $before, 'a pause of 0.25 s between two attempts while a borrower waits');
        });
    }

    /** A restart of the database takes a second or two: borrowers that may wait so long see nothing of it. */
    public function testAShortOutageIsWaitedOut(): void
    {
        $this->inTask(function (): void {
            $down = true;
            $pool = $this->pool(factory: function () use (&$down): FakeConnection {
                return $down ? throw new \RuntimeException('down') : new FakeConnection();
            }, borrowTimeout: 0.02);
            for ($i = 0; $i < 12; ++$i) {
                $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            }
            $began = monotonic();
            $borrowers = \array_map(fn () => async(fn () => $pool->with(fn () => true, 5.0)), \range(1, 5));
            self::pause(1.0);
            $down = false;
            foreach ($borrowers as $borrower) {
                self::assertTrue($borrower->await());
            }
            self::assertLessThan(2.0, monotonic() - $began);
        });
    }

    /** Ten idle connections behind a black hole: one deadline bounds checks, connects and the wait, all together. */
    public function testADeadlineBoundsBorrowingWhole(): void
    {
        $this->inTask(function (): void {
            $hole = false;
            $swallow = function () use (&$hole): bool {
                $hole && self::pause(100.0);

                return true;
            };
            $pool = $this->pool(factory: function () use ($swallow): FakeConnection {
                $swallow();

                return new FakeConnection();
            }, size: 10, minimumIdle: 10, check: $swallow, borrowTimeout: 1.0, bindToTask: false);
            $pool->start();
            self::until(fn () => $pool->stats()['idle'] === 10);
            self::pause(0.01);
            $hole = true;
            $began = monotonic();
            $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            self::assertEqualsWithDelta(1.0, monotonic() - $began, 0.4);
            $began = monotonic();
            $this->thrown(BorrowTimeout::class, fn () => $pool->borrow(0.1));
            self::assertLessThan(0.5, monotonic() - $began);
            $hole = false;
            self::until(fn () => $this->serves($pool));
        });
    }

    /** Idle connections that answer nothing delay no borrower where the database answers new ones. */
    public function testDeadConnectionsDoNotHoldUpABorrower(): void
    {
        $this->inTask(function (): void {
            $dead = new \SplObjectStorage();
            $pool = $this->pool(size: 10, minimumIdle: 10, check: function (FakeConnection $connection) use ($dead): bool {
                isset($dead[$connection]) && self::pause(100.0);

                return true;
            }, borrowTimeout: 5.0, bindToTask: false, factory: function () use ($dead): FakeConnection {
                $connection = new FakeConnection();
                \count($dead) < 9 && $dead->attach($connection);

                return $connection;
            });
            $pool->start();
            self::until(fn () => $pool->stats()['idle'] === 10);
            self::pause(0.01);
            $began = monotonic();
            self::assertFalse(isset($dead[$pool->borrow()]));
            self::assertLessThan(0.5, monotonic() - $began);
        });
    }

    public function testThePoolIsAliveAgainWhenTheDatabaseIs(): void
    {
        $this->inTask(function (): void {
            $down = false;
            $pool = $this->pool(factory: function () use (&$down): FakeConnection {
                return $down ? throw new \RuntimeException('down') : new FakeConnection();
            }, size: 4, minimumIdle: 2, check: function () use (&$down): bool {
                return !$down;
            }, borrowTimeout: 0.05);
            $pool->with(fn () => self::pause(0.01));
            $down = true;
            for ($i = 0; $i < 20; ++$i) {
                $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
                self::pause(0.01);
            }
            $down = false;
            self::until(fn () => $pool->stats()['idle'] === 2);
            parallel(\array_fill(0, 8, fn () => $pool->with(fn () => self::pause(0.001))));
            self::assertSame(0, $pool->stats()['active']);
        });
    }

    public function testOneDeadConnectionIsReplacedUnseen(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(check: fn (FakeConnection $connection) => !$connection->broken);
            $pool->with(function (FakeConnection $connection): void {
                self::pause(0.01);
                $connection->broken = true;
            });
            self::assertSame(2, $pool->borrow()->number);
            self::assertSame(['broken' => 1], $pool->stats()['destroyed']);
        });
    }

    public function testACheckThatThrowsOrHangsIsAFailedCheck(): void
    {
        $this->inTask(function (): void {
            $hang = false;
            $pool = $this->pool(check: function () use (&$hang): bool {
                return $hang ? self::pause(100) : throw new \DomainException('odd');
            }, borrowTimeout: 5.0);
            $pool->with(fn () => self::pause(0.01));
            $pool->with(fn () => self::pause(0.01));
            self::assertSame(1, $pool->stats()['failedChecks']);
            $hang = true;
            self::assertSame(3, $pool->with(fn (FakeConnection $connection) => $connection->number));
            self::until(fn () => $pool->stats()['failedChecks'] === 2);
        });
    }

    public function testABorrowerThatIsCancelledDuringTheCheckLosesNothing(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, check: fn () => self::pause(0.5));
            $pool->with(fn () => self::pause(0.01));
            self::pause(0.01);
            $borrower = async(fn () => $pool->borrow());
            $borrower->cancel();
            $this->thrown(\Hearth\CancelledError::class, fn () => $borrower->await());
            self::until(fn () => $pool->stats()['idle'] === 1);
            self::assertSame([[], 1], [$pool->stats()['destroyed'], $pool->stats()['total']]);
        });
    }

    public function testConnectionThatFailedInUseIsNotLentAgain(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool();
            $pool->with(fn ($connection) => $pool->evict($connection));
            self::assertSame(2, $pool->borrow()->number);
            self::assertSame(1, FakeConnection::$open);
        });
    }

    public function testResetThatFailsOrHangsClosesTheConnection(): void
    {
        $this->inTask(function (): void {
            foreach ([
                'returned false' => fn () => false,
                'a reason' => fn () => throw new \RuntimeException('a reason'),
                'longer than returnTimeout (0.02 s)' => fn () => self::pause(10),
            ] as $message => $reset) {
                $pool = $this->pool(reset: $reset, returnTimeout: 0.02);
                $pool->with(fn () => null);
                self::until(fn () => $pool->stats()['destroyed'] !== []);
                self::assertSame(['reset' => 1], $pool->stats()['destroyed'], $message);
                self::assertTrue($this->logger->has($message), $message);
                self::assertSame(0, $pool->stats()['total']);
            }
        });
    }

    public function testResetRunsBesideTheRequestAndBeforeTheNextLease(): void
    {
        $this->inTask(function (): void {
            $log = new \ArrayObject();
            $pool = $this->pool(size: 1, reset: function () use ($log): void {
                self::pause(0.01);
                $log[] = 'reset';
            });
            $pool->with(fn () => null);
            self::assertCount(0, $log, 'the borrower waited for the reset');
            $pool->with(fn () => $log[] = 'next');
            self::assertSame(['reset', 'next'], $log->getArrayCopy());
        });
    }

    public function testInitRunsForNewConnectionsAndAfterReset(): void
    {
        $this->inTask(function (): void {
            $inits = 0;
            $pool = $this->pool(reset: fn () => true, init: function () use (&$inits): void {
                ++$inits;
            });
            $pool->with(fn () => null);
            $pool->with(fn () => null);
            self::pause(0.001);
            self::assertSame(3, $inits);
        });
    }

    public function testSlowConnectIsGivenUp(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(factory: self::slowly(100), connectTimeout: 0.01, borrowTimeout: 0.02);
            $error = $this->thrown(BorrowTimeout::class, fn () => $pool->borrow());
            self::assertStringContainsString('connectTimeout (0.01 s)', $error->getMessage());
        });
    }

    /** php-async #141, #142: a waiter whose own attempt failed must be served by whatever comes next. */
    public function testFailedCreationLeavesTheWaiterInTheQueue(): void
    {
        $this->inTask(function (): void {
            $calls = 0;
            $pool = $this->pool(factory: function () use (&$calls): FakeConnection {
                return ++$calls === 2 ? throw new \RuntimeException('too many') : new FakeConnection();
            });
            $connection = $pool->borrow();
            $waiter = async(fn () => $pool->borrow()->number);
            self::pause(0.01);
            $pool->giveBack($connection);
            self::assertSame($connection->number, $waiter->await(0.1));
        });
    }

    public function testManyConnectsAtOnceAreLimited(): void
    {
        $this->inTask(function (): void {
            $now = (object) ['connecting' => 0, 'most' => 0];
            $pool = $this->pool(factory: function () use ($now): FakeConnection {
                $now->most = \max($now->most, ++$now->connecting);
                self::pause(0.002);
                --$now->connecting;

                return new FakeConnection();
            }, size: 20, minimumIdle: 20, maxConnecting: 3);
            $pool->start();
            self::until(fn () => $pool->stats()['idle'] === 20);
            self::assertSame(3, $now->most);
        });
    }

    public function testAFork(): void
    {
        if (!\function_exists('pcntl_fork') || $this->native()) {
            self::markTestSkipped('needs pcntl, and a process of its own');
        }
        $this->inTask(function (): void {
            $pool = $this->pool();
            $number = $pool->with(fn ($connection) => $connection->number);
            $child = \pcntl_fork();
            if ($child === 0) {
                $pool->with(fn ($connection) => \posix_kill(\getmypid(), $connection->number === $number ? \SIGKILL : \SIGTERM));
                \posix_kill(\getmypid(), \SIGKILL);
            }
            \pcntl_waitpid($child, $status);
            self::assertSame(\SIGTERM, \pcntl_wtermsig($status), 'the child was lent a connection of its parent');
            self::assertSame($number, $pool->with(fn ($connection) => $connection->number));
        });
    }

    /** Code that gives a connection back still holds it: the place is free only when its variable is gone. */
    public function testWaitersGetThePlaceOfAConnectionThatWasClosedInItsBorrowersHands(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, borrowTimeout: 0.5);
            $first = async(fn () => $pool->with(function (FakeConnection $connection) use ($pool): void {
                self::pause(0.01);
                $pool->evict($connection);
            }));
            $waiting = \array_fill(0, 3, fn () => $pool->with(fn () => true));
            self::assertSame([true, true, true], parallel($waiting));
            $first->await();
            self::assertSame(0, $pool->stats()['timeouts']);
        });
    }

    public function testRecycleHoldsForConnectionsBeingMade(): void
    {
        $this->inTask(function (): void {
            $address = 'old';
            $factory = function () use (&$address): FakeConnection {
                $connection = new FakeConnection();
                $connection->address = $address;
                self::pause(0.01);

                return $connection;
            };
            foreach (['being made' => 0.005, 'being initialised' => 0.015] as $what => $after) {
                $address = 'old';
                $pool = $this->pool(factory: $factory, init: static fn () => self::pause(0.01));
                $borrower = async(fn () => $pool->borrow()->address);
                self::pause($after);
                $address = 'new';
                $pool->recycle();
                self::assertSame('new', $borrower->await(), $what);
            }
        });
    }

    public function testAHandOffToACancelledWaiterRespectsThatThePoolWasClosed(): void
    {
        $this->inTask(function (): void {
            foreach (['close', 'recycle'] as $end) {
                $pool = $this->pool(size: 1);
                $connection = $pool->borrow();
                $number = $connection->number;
                $waiter = async(fn () => $pool->borrow());
                $pool->giveBack($connection);
                unset($connection);
                // The waiter has been given the connection and has not run since.
                $pool->$end();
                $waiter->cancel();
                try {
                    $waiter->await();
                } catch (CancelledError | PoolClosed) {
                }
                self::pause(0.01);
                $end === 'close'
                    ? self::assertSame(0, $pool->stats()['total'])
                    : self::assertNotSame($number, $pool->borrow()->number);
            }
        });
    }

    public function testAWaiterIsNotGivenWhatWasRecycledMeanwhile(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1);
            $old = $pool->borrow();
            $id = $old->number;
            $waiter = async(fn () => $pool->borrow()->number);
            $pool->giveBack($old);
            unset($old);
            $pool->recycle();
            self::assertNotSame($id, $waiter->await());
        });
    }

    /** Whatever kind it is: the answer to what was asked may still come, and the next borrower would take it for its own. */
    public function testAConnectionWhoseUseWasInterruptedIsNotLentAgain(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('a shim has no waits that can be ended early');
        }
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, factory: static function (): FakeConnection {
                $connection = new FakeConnection();
                $connection->address = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_STREAM, 0);

                return $connection;
            });
            $this->thrown(\Hearth\TimeoutError::class, fn () => \Hearth\timeout(0.01, fn () => $pool->with(fn ($connection) => \fgets($connection->address[0]))));
            self::assertSame(['broken' => 1], $pool->stats()['destroyed']);
            $this->thrown(\Hearth\TimeoutError::class, fn () => \Hearth\timeout(0.01, fn () => $pool->with(fn () => self::pause(1))));
            self::assertSame(['broken' => 1], $pool->stats()['destroyed'], 'it was not waited for');
            self::assertInstanceOf(FakeConnection::class, $pool->borrow());
        });
    }

    public function testThePoolLeavesTheAppsRandomSequenceAlone(): void
    {
        $this->inTask(function (): void {
            \mt_srand(42);
            $expected = [\mt_rand(), \mt_rand()];
            \mt_srand(42);
            $first = \mt_rand();
            $this->pool()->borrow();
            self::assertSame($expected, [$first, \mt_rand()]);
        });
    }

    /** SQLite's driver knows only of transactions begun with beginTransaction(), until PHP 8.4. */
    public function testATransactionThatWasBegunInSqlIsNotHandedOn(): void
    {
        $this->inTask(function (): void {
            $file = \tempnam(\sys_get_temp_dir(), 'hearth-pool-');
            try {
                $pdo = new \Hearth\Pool\Pdo("sqlite:$file", size: 1, minimumIdle: 0, logger: $this->logger);
                $pdo->exec('CREATE TABLE t (n INTEGER)');
                $pdo->release();
                foreach (['BEGIN', '/* mine */ begin immediate', 'SAVEPOINT a'] as $begin) {
                    async(function () use ($pdo, $begin): void {
                        $pdo->exec($begin);
                        $pdo->exec('INSERT INTO t VALUES (1)');
                    })->await();
                    async(fn () => $pdo->beginTransaction() && $pdo->commit())->await();
                    self::assertSame(0, (int) async(fn () => $pdo->query('SELECT COUNT(*) FROM t')->fetchColumn())->await(), $begin);
                }
                self::assertSame([3, 1], [$pdo->pool()->stats()['rollbacks'], $pdo->pool()->stats()['created']]);
            } finally {
                \unlink($file);
            }
        });
    }
}
