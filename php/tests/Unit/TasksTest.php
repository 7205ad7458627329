<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\CancelledError;
use Hearth\Internal\EffectiveTask;
use Hearth\Tests\TestCase;
use Hearth\TimeoutError;

use function Hearth\after;
use function Hearth\async;
use function Hearth\every;
use function Hearth\parallel;
use function Hearth\race;
use function Hearth\timeout;

final class TasksTest extends TestCase
{
    public function testParallelKeepsKeysAndOrder(): void
    {
        $this->inTask(function (): void {
            $slowEnded = false;
            $results = parallel([
                'slow' => function () use (&$slowEnded): string {
                    self::pause(0.1);
                    $slowEnded = true;

                    return 'a';
                },
                7 => fn (): ?string => null,
                'quick' => function () use (&$slowEnded): string {
                    self::pause(0.01);
                    self::assertFalse($slowEnded, 'one waited for the other');

                    return 'c';
                },
            ]);
            self::assertSame(['slow' => 'a', 7 => null, 'quick' => 'c'], $results);
            self::assertSame([], parallel([]));
        });
    }

    public function testParallelLimit(): void
    {
        $this->inTask(function (): void {
            $seen = (object) ['running' => 0, 'most' => 0];
            $results = parallel(\array_map(fn (int $i) => function () use ($i, $seen): int {
                $seen->most = \max($seen->most, ++$seen->running);
                self::pause(0.001 * (1 + $i % 3));
                --$seen->running;

                return $i;
            }, \range(0, 19)), 4);
            self::assertSame(\range(0, 19), $results);
            self::assertSame(4, $seen->most);
        });
        $this->expectException(\ValueError::class);
        parallel([fn () => 1], 0);
    }

    public function testFirstFailureCancelsTheRest(): void
    {
        $this->inTask(function (): void {
            $ended = new \ArrayObject();
            $error = $this->thrown(\DomainException::class, fn () => parallel([
                function () use ($ended): void {
                    try {
                        self::pause(10);
                    } finally {
                        $ended[] = 'cancelled';
                    }
                },
                function (): void {
                    self::pause(0.01);
                    throw new \DomainException('the first');
                },
                function () use ($ended): void {
                    self::pause(0.002);
                    $ended[] = 'in time';
                },
            ]));
            self::assertSame('the first', $error->getMessage());
            self::assertSame(['in time', 'cancelled'], $ended->getArrayCopy(), 'parallel() returned before its tasks had ended');
        });
    }

    public function testFailureBeforeTheFirstWaitStartsNoMore(): void
    {
        $this->inTask(function (): void {
            $started = new \ArrayObject();
            $this->thrown(\DomainException::class, fn () => parallel([
                fn () => throw new \DomainException(),
                fn () => $started[] = 'second',
            ]));
            self::assertCount(0, $started);
        });
    }

    public function testCancellingTheParentCancelsTheChildren(): void
    {
        $this->inTask(function (): void {
            $cancelled = new \ArrayObject();
            $task = async(fn () => parallel(\array_fill(0, 3, function () use ($cancelled): void {
                try {
                    self::pause(10);
                } catch (CancelledError $error) {
                    $cancelled[] = true;
                    throw $error;
                }
            })));
            self::pause(0.01);
            $task->cancel();
            $this->thrown(CancelledError::class, fn () => $task->await());
            self::assertCount(3, $cancelled);
        });
    }

    public function testParallelNests(): void
    {
        $this->inTask(function (): void {
            $sum = function (int $depth) use (&$sum) {
                return $depth === 0 ? 1 : \array_sum(parallel(\array_fill(0, 3, function () use (&$sum, $depth) {
                self::pause(0.001);

                return $sum($depth - 1);
                })));
            };
            self::assertSame(27, $sum(3));
        });
    }

    public function testRace(): void
    {
        $this->inTask(function (): void {
            $cancelled = false;
            self::assertSame('quick', race([
                function () use (&$cancelled): string {
                    try {
                        self::pause(5);
                    } catch (CancelledError $error) {
                        $cancelled = true;
                        throw $error;
                    }

                    return 'slow';
                },
                function (): string {
                    self::pause(0.01);

                    return 'quick';
                },
            ]));
            self::assertTrue($cancelled);
            self::assertNull(race([fn () => null]));
            $this->thrown(\DomainException::class, fn () => race([
                fn () => self::pause(1),
                fn () => throw new \DomainException(),
            ]));
        });
        $this->expectException(\ValueError::class);
        race([]);
    }

    public function testWhatIsNotCallableIsNamed(): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage("parallel(): item 'b' is not callable, but int");
        parallel(['a' => fn () => 1, 'b' => 2]);
    }

    public function testTimeout(): void
    {
        $this->inTask(function (): void {
            self::assertSame('done', timeout(1.0, function (): string {
                self::pause(0.001);

                return 'done';
            }));
            $cancelled = new \ArrayObject();
            $error = $this->thrown(TimeoutError::class, fn () => timeout(0.01, function () use ($cancelled): void {
                try {
                    self::pause(10);
                } catch (CancelledError $error) {
                    $cancelled[] = true;
                    throw $error;
                }
            }));
            self::assertCount(1, $cancelled);
            self::assertSame('the function did not end within 0.01 s', $error->getMessage());
            $this->thrown(\DomainException::class, fn () => timeout(1.0, fn () => throw new \DomainException()));
        });
    }

    public function testInnermostTimeoutWins(): void
    {
        $this->inTask(function (): void {
            $error = $this->thrown(TimeoutError::class, fn () => timeout(5.0, fn () => timeout(0.01, fn () => self::pause(10))));
            self::assertStringContainsString('0.01', $error->getMessage());
            $error = $this->thrown(TimeoutError::class, fn () => timeout(0.01, fn () => timeout(5.0, fn () => self::pause(10))));
            self::assertStringContainsString('0.01', $error->getMessage());
        });
    }

    public function testTimeoutRunsAsPartOfItsCaller(): void
    {
        $this->inTask(function (): void {
            $me = EffectiveTask::id();
            self::assertSame([$me, $me], timeout(1.0, fn () => [EffectiveTask::id(), timeout(1.0, fn () => EffectiveTask::id())]));
            self::assertNotSame($me, async(fn () => EffectiveTask::id())->await());
        });
    }

    public function testTimers(): void
    {
        $this->inTask(function (): void {
            $ticks = 0;
            $fired = false;
            $timer = every(0.01, function () use (&$ticks): void {
                ++$ticks;
            });
            after(0.035, function () use (&$fired): void {
                $fired = true;
            });
            $never = after(0.02, fn () => self::fail('a stopped timer fired'));
            $never->stop();
            self::until(function () use (&$fired): bool {
                return $fired;
            });
            self::assertEqualsWithDelta(3, $ticks, 1);
            $timer->stop();
            $ticks = 3;
            $timer->stop();
            self::assertTrue($timer->isStopped());
            self::pause(0.05);
            self::assertSame(3, $ticks);
        });
    }

    /** @dataProvider badTimes */
    public function testTimesThatAreNone(callable $call): void
    {
        $this->expectException(\ValueError::class);
        $call();
    }

    public static function badTimes(): array
    {
        return [
            [fn () => every(0, fn () => 1)],
            [fn () => every(\NAN, fn () => 1)],
            [fn () => every(\INF, fn () => 1)],
            [fn () => after(-1, fn () => 1)],
            [fn () => timeout(-0.1, fn () => 1)],
            [fn () => timeout(\NAN, fn () => 1)],
        ];
    }
}
