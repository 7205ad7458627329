<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\CancelledError;
use Hearth\Pool\BorrowTimeout;
use Hearth\Pool\NotBorrowed;
use Hearth\Pool\Pool;
use Hearth\Pool\PoolClosed;
use Hearth\Tests\Fixtures\FakeConnection;
use Hearth\Tests\PoolTestCase;

use function Hearth\async;
use function Hearth\background;
use function Hearth\Internal\monotonic;
use function Hearth\parallel;
use function Hearth\timeout;

final class PoolBorrowTest extends PoolTestCase
{
    public function testLendsAndTakesBack(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool();
            $connection = $pool->borrow();
            self::assertInstanceOf(FakeConnection::class, $connection);
            self::assertSame([1, 1, 0], [$pool->stats()['total'], $pool->stats()['active'], $pool->stats()['idle']]);
            $pool->giveBack($connection);
            self::assertSame([1, 0, 1], [$pool->stats()['total'], $pool->stats()['active'], $pool->stats()['idle']]);
            self::assertSame($connection, $pool->borrow(), 'the idle connection was not lent again');
            self::assertSame(1, $pool->stats()['created']);
        });
    }

    public function testOneTaskGetsTheSameConnection(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool();
            $outer = $pool->borrow();
            self::assertSame($outer, $pool->borrow());
            $pool->with(fn ($inner) => self::assertSame($outer, $inner));
            self::assertSame(1, $pool->stats()['active'], 'the inner with() gave back what the outer borrower uses');
            self::assertNotSame($outer, async(fn () => $pool->borrow())->await());
            self::assertSame($outer, timeout(1.0, fn () => $pool->with(fn ($connection) => $connection)));
        });
    }

    public function testUnboundTaskGetsSeveral(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(bindToTask: false);
            self::assertNotSame($pool->borrow(), $pool->borrow());
            $pool = $this->pool(bindToTask: false);
            async(fn () => [$pool->borrow(), $pool->borrow()])->await();
            self::assertSame(2, $pool->stats()['idle'], 'not all came back at the end of the task');
        });
    }

    /** allsilaevex: the automatic return gave back what another task had borrowed meanwhile. */
    public function testAutomaticReturnAfterReturnByHandNeverMakesTwoOwners(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1);
            $first = async(function () use ($pool): void {
                $pool->giveBack($pool->borrow());
                self::pause(0.005);
            });
            $owners = (object) ['now' => 0, 'most' => 0];
            $use = function () use ($pool, $owners): void {
                $connection = $pool->borrow();
                $owners->most = \max($owners->most, ++$owners->now);
                self::pause(0.01);
                --$owners->now;
                $pool->giveBack($connection);
            };
            parallel([$use, $use, $use]);
            $first->await();
            self::assertSame(1, $owners->most);
        });
    }

    public function testReturnsWhenTheTaskEndsHoweverItEnds(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 3);
            async(fn () => $pool->borrow())->await();
            $throws = async(function () use ($pool): void {
                $pool->borrow();
                throw new \DomainException();
            });
            $this->thrown(\DomainException::class, fn () => $throws->await());
            $cancelled = async(function () use ($pool): void {
                $pool->borrow();
                self::pause(10);
            });
            $cancelled->cancel();
            $this->thrown(CancelledError::class, fn () => $cancelled->await());
            self::assertSame([0, 1], [$pool->stats()['active'], $pool->stats()['idle']]);
        });
    }

    public function testDoubleAndForeignReturnsAreRefused(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool();
            $other = $this->pool();
            $connection = $pool->borrow();
            $this->thrown(NotBorrowed::class, fn () => $other->giveBack($connection));
            $this->thrown(NotBorrowed::class, fn () => $pool->giveBack(new \stdClass()));
            $stranger = async(fn () => $pool->giveBack($connection));
            $error = $this->thrown(NotBorrowed::class, fn () => $stranger->await());
            self::assertStringContainsString('lent to task', $error->getMessage());
            $pool->giveBack($connection);
            $error = $this->thrown(NotBorrowed::class, fn () => $pool->giveBack($connection));
            self::assertStringContainsString('given back already', $error->getMessage());
            self::assertSame([1, 3], [$pool->stats()['idle'], $pool->stats()['staleReturns']]);
        });
    }

    public function testNeverMoreThanItsSize(): void
    {
        \mt_srand(3);
        $this->inTask(function (): void {
            $pool = $this->pool(factory: self::slowly(0.001), size: 3, borrowTimeout: 10, maxConnecting: 10);
            parallel(\array_fill(0, 60, function () use ($pool): void {
                $connection = $pool->borrow();
                self::assertFalse($connection->inUse, 'two owners');
                $connection->inUse = true;
                self::pause(\mt_rand(0, 3) / 1000);
                $connection->inUse = false;
                if (\mt_rand(0, 5) === 0) {
                    $pool->evict($connection);
                }
                $pool->giveBack($connection);
            }));
            self::assertLessThanOrEqual(3, FakeConnection::$mostOpen);
            self::assertSame(0, $pool->stats()['active']);
            self::assertSame(60, $pool->stats()['borrowed']);
        });
    }

    public function testFirstComeFirstServed(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, borrowTimeout: 5);
            $order = [];
            $tasks = [];
            for ($i = 0; $i < 20; ++$i) {
                $tasks[] = async(function () use ($pool, $i, &$order): void {
                    $connection = $pool->borrow();
                    $order[] = $i;
                    self::pause(0.001);
                    $pool->giveBack($connection);
                    // It comes again at once: it must not overtake those who wait (php-async#235).
                    $pool->with(fn () => null);
                });
            }
            foreach ($tasks as $task) {
                $task->await();
            }
            self::assertSame(\range(0, 19), $order);
        });
    }

    public function testTakesTheFirstThatBecomesFreeNewOrReturned(): void
    {
        $this->inTask(function (): void {
            $slow = 0.0;
            $pool = $this->pool(factory: function () use (&$slow): FakeConnection {
                self::pause($slow);

                return new FakeConnection();
            });
            $connection = $pool->borrow();
            $slow = 0.1;
            $waiter = async(fn () => $pool->borrow()->number);
            self::pause(0.01);
            $pool->giveBack($connection);
            self::assertSame(1, $waiter->await(), 'it waited for its own connection though another came free');
            self::until(fn () => $pool->stats()['idle'] === 2);
            self::assertSame(1, $pool->stats()['servedWaiters'] - 1);
        });
    }

    public function testTimeoutTellsHowThingsAre(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, borrowTimeout: 0.05, name: 'orders');
            $pool->borrow();
            $began = monotonic();
            $error = $this->thrown(BorrowTimeout::class, fn () => async(fn () => $pool->borrow())->await());
            $took = monotonic() - $began;
            self::assertGreaterThanOrEqual(0.049, $took);
            self::assertLessThan(0.9, $took, 'the default of 1 s held, not what was set');
            self::assertStringContainsString('pool "orders": no connection came free within 0.05 s', $error->getMessage());
            self::assertStringContainsString('total=1, active=1, idle=0, waiting=0', $error->getMessage());
            $this->thrown(BorrowTimeout::class, fn () => async(fn () => $pool->borrow(0.0))->await());
            self::assertSame([2, 0], [$pool->stats()['timeouts'], $pool->stats()['waiting']]);
        });
    }

    public function testCancelledAndTimedOutWaitersPassTheirTurnOn(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, borrowTimeout: 1);
            $connection = $pool->borrow();
            $cancelled = async(fn () => $pool->borrow());
            $late = async(fn () => $pool->borrow(0.005));
            $third = async(function () use ($pool): string {
                $pool->borrow();

                return 'served';
            });
            $this->thrown(BorrowTimeout::class, fn () => $late->await());
            $cancelled->cancel();
            $pool->giveBack($connection);
            $this->thrown(CancelledError::class, fn () => $cancelled->await());
            self::assertSame('served', $third->await());
            self::assertSame([1, 0, 0], [$pool->stats()['idle'], $pool->stats()['active'], $pool->stats()['waiting']]);
        });
    }

    public function testWaiterCancelledAfterTheHandOffLosesNothing(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1);
            $connection = $pool->borrow();
            $waiter = async(fn () => $pool->borrow());
            $pool->giveBack($connection);
            $waiter->cancel();
            self::pause(0.01);
            self::assertSame([1, 0], [$pool->stats()['idle'], $pool->stats()['active']]);
        });
    }

    public function testMaxWaiters(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, maxWaiters: 1);
            $pool->borrow();
            $waiter = async(fn () => $pool->borrow(0.05));
            $error = $this->thrown(BorrowTimeout::class, fn () => async(fn () => $pool->borrow())->await());
            self::assertStringContainsString('maxWaiters = 1', $error->getMessage());
            $this->thrown(BorrowTimeout::class, fn () => $waiter->await());
        });
    }

    public function testLastUsedIsLentFirst(): void
    {
        $this->inTask(function (): void {
            foreach (['lifo' => 2, 'fifo' => 1] as $order => $expected) {
                FakeConnection::reset();
                $pool = $this->pool(order: $order, bindToTask: false);
                $connections = [$pool->borrow(), $pool->borrow()];
                $pool->giveBack($connections[0]);
                $pool->giveBack($connections[1]);
                self::assertSame($expected, $pool->borrow()->number, $order);
            }
        });
    }

    public function testPauseAndResume(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool();
            $out = $pool->borrow();
            $pool->pause();
            $waiting = async(fn () => $pool->borrow()->number);
            $pool->giveBack($out);
            self::pause(0.01);
            self::assertFalse($waiting->isDone());
            $pool->resume();
            self::assertSame(1, $waiting->await(0.5));
        });
    }

    public function testWhatComesBackAtATasksEndWaitsForResume(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1);
            $out = async(function () use ($pool): void {
                $pool->borrow();
                self::pause(0.01);
            });
            $waiting = async(fn () => $pool->borrow()->number);
            $pool->pause();
            $out->await();
            self::pause(0.01);
            self::assertSame([false, 1], [$waiting->isDone(), $pool->stats()['idle']]);
            $pool->resume();
            self::assertSame(1, $waiting->await(0.5));
        });
    }

    public function testCloseWaitsForThoseOut(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 2);
            $borrower = async(function () use ($pool): void {
                $pool->borrow();
                self::pause(0.05);
            });
            async(fn () => $pool->borrow())->await();
            $other = async(function () use ($pool): void {
                $pool->borrow();
                self::pause(0.02);
            });
            $waiter = async(fn () => $pool->borrow());
            self::assertFalse($pool->close(0.001));
            $this->thrown(PoolClosed::class, fn () => $waiter->await());
            $this->thrown(PoolClosed::class, fn () => $pool->borrow());
            self::assertFalse($borrower->isDone());
            self::assertTrue($pool->close(1.0));
            self::assertTrue($borrower->isDone() && $other->isDone());
            self::assertSame(0, FakeConnection::$open);
            self::assertSame(['closed' => 2], $pool->stats()['destroyed']);
        });
    }

    public function testConnectionMadeWhileThePoolClosesIsClosedToo(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(factory: self::slowly(0.02), minimumIdle: 1);
            $pool->start();
            self::assertTrue($pool->close(1.0));
            self::assertSame([1, 0], [FakeConnection::$made, FakeConnection::$open]);
        });
    }

    public function testAllPoolsOfAWorkerAreClosedAtItsEnd(): void
    {
        $this->inTask(function (): void {
            $one = $this->pool();
            $two = $this->pool();
            $one->with(fn () => null);
            $borrower = async(fn () => $two->with(fn () => self::pause(0.02)));
            \Hearth\Internal\PoolReports::closePools(1.0);
            self::assertTrue($borrower->isDone());
            self::assertSame(0, FakeConnection::$open);
        });
    }

    public function testStatistics(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(name: 'numbers');
            $pool->with(fn () => self::pause(0.003));
            $stats = \Hearth\Internal\PoolReports::poolStats()['numbers'];
            self::assertSame(1, $stats['useTime']['count']);
            self::assertSame(0, $stats['useTime']['buckets']['0.0025']);
            self::assertSame(1, $stats['useTime']['buckets']['+Inf']);
            self::assertGreaterThanOrEqual(0.003, $stats['useTime']['max']);
            self::assertSame(1, $stats['borrowTime']['count']);
            self::assertSame(1, $stats['createTime']['count']);
        });
    }

    /** What an idle connection's lease and return leave behind is nothing: no garbage, no root of it, no memory. */
    public function testALeaseCostsTheCollectorNothing(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('the shim of tasks is made of PHP objects');
        }
        $this->inTask(function (): void {
            $pool = $this->pool();
            $lend = static function (int $times) use ($pool): void {
                for ($i = 0; $i < $times; ++$i) {
                    $pool->giveBack($pool->borrow());
                }
            };
            \gc_collect_cycles();
            $lend(100);
            [$before, $memory] = [\gc_status(), \memory_get_usage()];
            $lend(50_000);
            [$more, $after] = [\memory_get_usage() - $memory, \gc_status()];
            self::assertLessThan(256, $more);
            self::assertSame([$before['runs'], $before['collected']], [$after['runs'], $after['collected']]);
            self::assertLessThanOrEqual($before['roots'] + 2, $after['roots']);
        });
    }

    public function testManyWaitersAreServedInTheirOrder(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 8, borrowTimeout: 60, maxConnecting: 8);
            $served = new \ArrayObject();
            $tasks = [];
            for ($i = 0; $i < 2000; ++$i) {
                $tasks[] = background(function () use ($pool, $served, $i): void {
                    $connection = $pool->borrow();
                    $served[] = $i;
                    self::pause(0.001);
                    $pool->giveBack($connection);
                });
            }
            foreach ($tasks as $task) {
                $task->await();
            }
            self::assertSame(\range(0, 1999), $served->getArrayCopy());
            self::assertSame(8, FakeConnection::$mostOpen);
        });
    }

    /** @dataProvider wrongOptions */
    public function testWrongOptionsAreNamedTogether(array $options, string $message): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage($message);
        new Pool(fn () => new FakeConnection(), ...$options);
    }

    public static function wrongOptions(): array
    {
        return [
            [['size' => 0, 'idleTimeout' => 0], 'size must be at least 1, 0 given; idleTimeout must be'],
            [['size' => 2, 'minimumIdle' => 3], 'minimumIdle must be from 0 to size (2), 3 given'],
            [['size' => 1, 'minimumIdle' => 0, 'borrowTimeout' => -1], 'borrowTimeout must be 0 or more seconds, -1 given'],
            [['maxLifetime' => \NAN], 'maxLifetime must be more than 0 seconds'],
            [['order' => 'random'], "order must be 'lifo' or 'fifo', 'random' given"],
            [['reset' => 'hard'], "reset must be 'auto', 'transaction', 'none' or a callable, 'hard' given"],
            [['total' => 0], 'total must be at least 1, 0 given'],
        ];
    }

    public function testDefaultsFollowTheCores(): void
    {
        $cores = \max(1, (int) \trim((string) \shell_exec('grep -c ^processor /proc/cpuinfo 2>&1')));
        $options = (new \ReflectionProperty(Pool::class, 'options'))->getValue(new Pool(fn () => new FakeConnection()));
        self::assertSame([4 * $cores, 2 * $cores], [$options->size, $options->minimumIdle]);
    }

    public function testOutsideATask(): void
    {
        if ($this->native()) {
            self::markTestSkipped('under `hearth run` everything is a task');
        }
        $pool = $this->pool(size: 1);
        $connection = $pool->borrow();
        self::assertSame($connection, $pool->borrow());
        $this->inTask(function () use ($pool, $connection): void {
            self::assertSame($connection, $pool->borrow(), 'what was borrowed at boot did not come back');
        });
    }
}
