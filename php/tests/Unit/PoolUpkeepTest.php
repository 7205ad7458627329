<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Tests\Fixtures\FakeConnection;
use Hearth\Tests\PoolTestCase;
use Hearth\Tests\Shim\Loop;

use function Hearth\Internal\monotonic;
use function Hearth\parallel;

final class PoolUpkeepTest extends PoolTestCase
{
    public function testMinimumIsKeptAndTheRestClosed(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 5, minimumIdle: 2, idleTimeout: 0.05);
            parallel(\array_fill(0, 5, fn () => $pool->with(fn () => self::pause(0.005))));
            self::assertSame(5, $pool->stats()['idle']);
            self::until(fn () => $pool->stats()['idle'] === 2);
            self::assertSame(['idle' => 3], $pool->stats()['destroyed']);
            self::pause(0.2);
            self::assertSame(2, FakeConnection::$open);
        });
    }

    public function testThoseInUseAreNotIdle(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(idleTimeout: 0.02, maxLifetime: 0.02);
            $pool->with(function () use ($pool): void {
                self::pause(0.2);
                self::assertSame(1, $pool->stats()['active']);
            });
        });
    }

    public function testWornOutConnectionsAreReplacedBeforeTheyAreClosed(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(factory: self::slowly(0.01), size: 3, minimumIdle: 2, maxLifetime: 0.1);
            $pool->start();
            self::pause(0.05);
            for ($i = 0; $i < 40; ++$i) {
                self::assertGreaterThanOrEqual(2, $pool->stats()['idle'] + $pool->stats()['active']);
                self::pause(0.01);
            }
            self::assertGreaterThanOrEqual(4, $pool->stats()['destroyed']['lifetime']);
            self::assertLessThanOrEqual(3, FakeConnection::$mostOpen);
        });
    }

    public function testFullPoolReplacesToo(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 2, minimumIdle: 2, maxLifetime: 0.1);
            $pool->start();
            self::pause(0.4);
            self::assertGreaterThanOrEqual(2, $pool->stats()['destroyed']['lifetime']);
            self::assertGreaterThanOrEqual(1, $pool->stats()['idle'], 'both were closed at once');
            self::assertSame(2, FakeConnection::$mostOpen);
        });
    }

    public function testBusyConnectionIsReplacedAtAReturnAfterTheReserveTimeout(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, maxLifetime: 0.05, reserveTimeout: 0.05, borrowTimeout: 5);
            $began = monotonic();
            $lent = (object) ['first' => 0.0, 'second' => 0.0];
            parallel(\array_fill(0, 60, fn () => $pool->with(function (FakeConnection $connection) use ($lent, $began): void {
                match ($connection->number) {
                    1 => $lent->first = monotonic() - $began,
                    2 => $lent->second = $lent->second ?: monotonic() - $began,
                    default => null,
                };
                self::pause(0.01);
            })));
            // The lifetime is spread by 2.5 %.
            self::assertGreaterThan(0.098, $lent->second, 'it was replaced while others waited, before the reserve timeout');
            // All leases take 0.6 s.
            self::assertLessThan(0.35, $lent->first, 'it was lent again after the reserve timeout');
        });
    }

    public function testLifetimesAreSpread(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 50, minimumIdle: 50, maxConnecting: 50, maxLifetime: 100);
            $pool->start();
            self::pause(0.01);
            $store = (new \ReflectionProperty($pool, 'store'))->getValue($pool);
            $expiries = \array_map(fn ($entry) => $entry->expiresAt - $entry->createdAt, $store->idle);
            self::assertGreaterThan(3.0, \max($expiries) - \min($expiries));
            self::assertGreaterThanOrEqual(97.5, \min($expiries));
            self::assertLessThanOrEqual(102.5, \max($expiries));
        });
    }

    public function testKeepalive(): void
    {
        $this->inTask(function (): void {
            $calls = new \ArrayObject();
            $pool = $this->pool(keepalive: function (FakeConnection $connection) use ($calls): bool {
                $calls[] = $connection->number;

                return \count($calls) !== 3;
            }, keepaliveInterval: 0.05, minimumIdle: 1, size: 1);
            $pool->start();
            self::until(fn () => FakeConnection::$made > 1 && $pool->stats()['idle'] === 1);
            self::assertSame([1, 1, 1], \array_slice($calls->getArrayCopy(), 0, 3));
            self::assertSame(1, $pool->stats()['destroyed']['keepalive']);
        });
    }

    public function testKeepaliveDoesNotTakeTheConnectionFromBorrowers(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(keepalive: fn () => self::pause(0.05), keepaliveInterval: 0.02, size: 1, borrowTimeout: 1);
            $pool->with(fn () => null);
            self::pause(0.03);
            self::assertSame(1, $pool->with(fn (FakeConnection $connection) => $connection->number));
        });
    }

    public function testLeakIsReportedOnceWithItsPlace(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(leakThreshold: 0.02);
            $line = __LINE__ + 1;
            $connection = $pool->borrow();
            self::pause(0.2);
            $reports = \array_values(\array_filter($this->logger->lines, fn ($line) => \str_contains($line, 'has been out')));
            self::assertCount(1, $reports);
            self::assertStringContainsString(__FILE__ . ":$line", $reports[0]);
            $pool->giveBack($connection);
            self::assertTrue($this->logger->has('came back after'));
            self::assertSame(1, $pool->stats()['leaks']);
        });
    }

    public function testRecycle(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(bindToTask: false);
            $lent = $pool->borrow();
            $pool->with(fn () => null);
            $pool->recycle();
            self::assertSame(1, $pool->stats()['total']);
            $pool->giveBack($lent);
            self::assertSame(['recycled' => 2], $pool->stats()['destroyed']);
            self::assertSame(3, $pool->borrow()->number);
        });
    }

    public function testClosedConnectionsThatCodeHoldsCountUntilTheyAreGone(): void
    {
        $this->inTask(function (): void {
            $pool = $this->pool(size: 1, borrowTimeout: 0.02);
            $held = $pool->borrow();
            $pool->evict($held);
            $pool->giveBack($held);
            self::assertSame([1, 1], [$pool->stats()['total'], $pool->stats()['lingering']]);
            try {
                $pool->borrow();
                self::fail('a second connection was opened while the first is held open');
            } catch (\Hearth\Pool\BorrowTimeout) {
            }
            $held = null;
            self::assertSame(2, $pool->borrow()->number);
        });
    }

    public function testConnectionsAreCheckedAfterTheClockJumped(): void
    {
        if ($this->native()) {
            self::markTestSkipped('needs a clock that can be moved');
        }
        $this->inTask(function (): void {
            $checks = 0;
            $pool = $this->pool(idleTimeout: 10.0, check: null);
            $pool->with(fn () => null);
            self::pause(5.1);
            Loop::current()->jump(100.0);
            self::pause(0.1);
            $store = (new \ReflectionProperty($pool, 'store'))->getValue($pool);
            foreach ($store->idle as $entry) {
                self::assertTrue($entry->suspect);
            }
            self::assertSame(0, $checks);
        });
    }

    public function testBudgetBoundsAllWorkersTogether(): void
    {
        $this->inTask(function (): void {
            // Two pools of one name are what two workers have.
            $name = 'shared ' . \random_int(0, \PHP_INT_MAX);
            $one = $this->pool(size: 10, total: 4, name: $name, borrowTimeout: 2);
            $two = $this->pool(size: 10, total: 4, name: $name, borrowTimeout: 2);
            parallel(\array_fill(0, 40, fn () => $one->with(fn () => self::pause(0.002))));
            self::assertSame(4, $one->stats()['idle']);
            parallel(\array_fill(0, 40, fn () => $two->with(fn () => self::pause(0.002))));
            self::assertLessThanOrEqual(4, FakeConnection::$mostOpen);
            self::assertGreaterThanOrEqual(1, $one->stats()['destroyed']['yielded']);
            parallel(\array_merge(
                \array_fill(0, 40, fn () => $one->with(fn () => self::pause(0.002))),
                \array_fill(0, 40, fn () => $two->with(fn () => self::pause(0.002))),
            ));
            self::assertLessThanOrEqual(4, FakeConnection::$mostOpen);
            $one->close(1.0);
            $two->close(1.0);
            self::until(fn () => \Hearth\Internal\budgetUsed(\Hearth\Internal\budget("pool $name", 4)) === 0);
        });
    }

    public function testStarvingWorkerGetsAnIdleConnectionWithin60Milliseconds(): void
    {
        $this->inTask(function (): void {
            $name = 'stolen ' . \random_int(0, \PHP_INT_MAX);
            $one = $this->pool(size: 2, total: 2, name: $name);
            $two = $this->pool(size: 2, total: 2, name: $name, borrowTimeout: 0.06);
            parallel(\array_fill(0, 2, fn () => $one->with(fn () => self::pause(0.001))));
            self::pause(0.1);
            $two->with(fn () => null);
            self::assertSame(['yielded' => 1], $one->stats()['destroyed']);
        });
    }
}
