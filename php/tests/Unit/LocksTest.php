<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\CancelledError;
use Hearth\Local;
use Hearth\Mutex;
use Hearth\Semaphore;
use Hearth\Tests\TestCase;
use Hearth\TimeoutError;

use function Hearth\async;
use function Hearth\background;
use function Hearth\parallel;

final class LocksTest extends TestCase
{
    public function testSemaphoreLetsOnlySoManyIn(): void
    {
        $this->inTask(function (): void {
            $semaphore = new Semaphore(3);
            $seen = (object) ['inside' => 0, 'most' => 0];
            parallel(\array_fill(0, 20, fn () => $semaphore->with(function () use ($seen): void {
                $seen->most = \max($seen->most, ++$seen->inside);
                self::pause(0.001);
                --$seen->inside;
            })));
            self::assertSame(3, $seen->most);
            self::assertSame([3, 0], [$semaphore->available(), $semaphore->waiting()]);
        });
    }

    public function testSemaphoreIsFair(): void
    {
        $this->inTask(function (): void {
            $semaphore = new Semaphore(1);
            $semaphore->acquire();
            $order = [];
            for ($i = 0; $i < 10; ++$i) {
                async(function () use ($semaphore, $i, &$order): void {
                    $semaphore->acquire();
                    $order[] = $i;
                    $semaphore->release();
                });
            }
            $semaphore->release();
            self::assertFalse($semaphore->tryAcquire(), 'a newcomer overtook those who wait');
            self::pause(0.01);
            self::assertSame(\range(0, 9), $order);
        });
    }

    public function testCancelledAndTimedOutWaitersPassTheirTurnOn(): void
    {
        $this->inTask(function (): void {
            $semaphore = new Semaphore(1);
            $semaphore->acquire();
            $cancelled = async(fn () => $semaphore->acquire());
            $late = async(fn () => $semaphore->acquire(0.01));
            $got = false;
            async(function () use ($semaphore, &$got): void {
                $semaphore->acquire();
                $got = true;
            });
            $this->thrown(TimeoutError::class, fn () => $late->await());
            $cancelled->cancel();
            $semaphore->release();
            $this->thrown(CancelledError::class, fn () => $cancelled->await());
            self::pause(0.001);
            self::assertTrue($got);
        });
    }

    public function testWaiterCancelledAfterItWasServedGivesThePermitBack(): void
    {
        $this->inTask(function (): void {
            $semaphore = new Semaphore(1);
            $semaphore->acquire();
            $waiter = async(function () use ($semaphore): void {
                $semaphore->acquire();
                $semaphore->release();
            });
            $semaphore->release();
            $waiter->cancel();
            self::pause(0.001);
            self::assertSame(1, $semaphore->available());
        });
    }

    public function testReleasingTooOftenIsRefused(): void
    {
        $this->expectException(\LogicException::class);
        (new Semaphore(2))->release();
    }

    public function testMutexExcludesAndIsFair(): void
    {
        $this->inTask(function (): void {
            $mutex = new Mutex();
            $seen = (object) ['order' => [], 'inside' => false];
            parallel(\array_map(fn (int $i) => fn () => $mutex->with(function () use ($i, $seen): void {
                self::assertFalse($seen->inside);
                $seen->inside = true;
                self::pause(0.001);
                $seen->order[] = $i;
                $seen->inside = false;
            }), \range(0, 9)));
            self::assertSame(\range(0, 9), $seen->order);
            self::assertFalse($mutex->isLocked());
        });
    }

    public function testMutexBelongsToItsTask(): void
    {
        $this->inTask(function (): void {
            $mutex = new Mutex();
            $mutex->acquire();
            $this->thrown(\LogicException::class, fn () => $mutex->acquire());
            $other = async(fn () => $mutex->release());
            $this->thrown(\LogicException::class, fn () => $other->await());
            self::assertFalse($mutex->tryAcquire());
            $mutex->release();
            $this->thrown(\LogicException::class, fn () => $mutex->release());
        });
    }

    public function testMutexOfAnEndedTaskComesFree(): void
    {
        $this->inTask(function (): void {
            $mutex = new Mutex();
            $first = async(function () use ($mutex): void {
                $mutex->acquire();
                self::pause(0.01);
                throw new \RuntimeException('dies with the lock');
            });
            $mutex->acquire(1.0);
            self::assertTrue($first->isDone());
            $mutex->release();
        });
    }

    public function testLocalBelongsToTheRequestAndItsChildren(): void
    {
        $this->inTask(function (): void {
            $calls = 0;
            $local = new Local(function () use (&$calls) {
                return ++$calls;
            });
            $plain = new Local();
            self::assertFalse($plain->has());
            self::assertNull($plain->get());
            self::assertSame(1, $local->get());
            self::assertSame(1, async(fn () => $local->get())->await());
            async(fn () => $plain->set('from a child'))->await();
            self::assertSame('from a child', $plain->get());
            self::assertSame([2, false], background(fn () => [$local->get(), $plain->has()])->await());
            $plain->unset();
            self::assertFalse($plain->has());
        });
    }

    public function testLocalIsFreedWithItsRequest(): void
    {
        $local = new Local();
        $object = $this->inTask(function () use ($local): \WeakReference {
            $object = new \stdClass();
            $local->set($object);

            return \WeakReference::create($object);
        });
        self::assertNull($object->get());
    }
}
