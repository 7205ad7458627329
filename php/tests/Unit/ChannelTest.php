<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\CancelledError;
use Hearth\Channel;
use Hearth\ChannelClosed;
use Hearth\Tests\TestCase;
use Hearth\TimeoutError;

use function Hearth\async;

final class ChannelTest extends TestCase
{
    /** @dataProvider capacities */
    public function testValuesArriveInOrder(int $capacity): void
    {
        $this->inTask(function () use ($capacity): void {
            $channel = new Channel($capacity);
            async(function () use ($channel): void {
                foreach ([1, null, 'three', [4], false] as $value) {
                    $channel->send($value);
                }
                $channel->close();
            });
            self::assertSame([1, null, 'three', [4], false], \iterator_to_array($channel, false));
        });
    }

    public static function capacities(): array
    {
        return ['unbuffered' => [0], 'one' => [1], 'three' => [3], 'more than enough' => [100]];
    }

    public function testUnbufferedSendWaitsForItsReceiver(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel();
            $sent = false;
            async(function () use ($channel, &$sent): void {
                $channel->send('x');
                $sent = true;
            });
            self::assertFalse($sent);
            self::assertSame('x', $channel->receive());
            self::pause(0.001);
            self::assertTrue($sent);
        });
    }

    public function testBufferedSendWaitsOnlyWhenFull(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel(2);
            $channel->send(1);
            $channel->send(2);
            self::assertCount(2, $channel);
            $this->thrown(TimeoutError::class, fn () => $channel->send(3, 0.01));
            self::assertSame([1, 2], [$channel->receive(), $channel->receive()]);
            $this->thrown(TimeoutError::class, fn () => $channel->receive(0.01));
        });
    }

    public function testReceiversAreServedFirstComeFirstServed(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel();
            $got = [];
            for ($i = 0; $i < 5; ++$i) {
                async(function () use ($channel, $i, &$got): void {
                    $got[$i] = $channel->receive();
                });
            }
            for ($i = 0; $i < 5; ++$i) {
                $channel->send("v$i");
            }
            self::pause(0.001);
            // Who gets what; in which order they go on is the scheduler's business.
            \ksort($got);
            self::assertSame(['v0', 'v1', 'v2', 'v3', 'v4'], $got);
        });
    }

    public function testCancelledReceiverPassesTheValueOn(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel();
            $got = [];
            $first = async(fn () => $channel->receive());
            async(function () use ($channel, &$got): void {
                $got[] = $channel->receive();
            });
            $first->cancel();
            $channel->send('for the second');
            $this->thrown(CancelledError::class, fn () => $first->await());
            self::pause(0.001);
            self::assertSame(['for the second'], $got);
        });
    }

    public function testValueOfAReceiverCancelledAfterItWasServedIsNotLost(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel();
            $seen = [];
            $first = async(function () use ($channel, &$seen): void {
                $seen[] = $channel->receive();
            });
            $channel->send('value');
            $first->cancel();
            self::pause(0.001);
            if ($seen === []) {
                self::assertSame('value', $channel->receive(0.01));
            } else {
                self::assertSame(['value'], $seen);
            }
        });
    }

    public function testTimedOutSenderSendsNothing(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel();
            $this->thrown(TimeoutError::class, fn () => $channel->send('late', 0.01));
            $this->thrown(TimeoutError::class, fn () => $channel->receive(0.01));
        });
    }

    public function testCloseWakesAll(): void
    {
        $this->inTask(function (): void {
            $receiving = new Channel();
            $sending = new Channel();
            $tasks = [];
            for ($i = 0; $i < 3; ++$i) {
                $tasks[] = async(fn () => $receiving->receive());
                $tasks[] = async(fn () => $sending->send('x'));
            }
            $receiving->close();
            $sending->close();
            foreach ($tasks as $task) {
                $this->thrown(ChannelClosed::class, fn () => $task->await());
            }
            $this->thrown(ChannelClosed::class, fn () => $receiving->send(1));
            self::assertTrue($receiving->isClosed());
        });
    }

    public function testWhatIsInTheBufferOutlivesClose(): void
    {
        $this->inTask(function (): void {
            $channel = new Channel(2);
            $channel->send('a');
            $channel->send('b');
            $channel->close();
            self::assertSame(['a', 'b'], \iterator_to_array($channel, false));
        });
    }

    public function testRandomTrafficLosesAndRepeatsNothing(): void
    {
        \mt_srand(7);
        $this->inTask(function (): void {
            $channel = new Channel(3);
            $sent = $received = [];
            $tasks = [];
            for ($sender = 0; $sender < 10; ++$sender) {
                $tasks[] = async(function () use ($channel, $sender, &$sent): void {
                    for ($i = 0; $i < 50; ++$i) {
                        try {
                            $channel->send("$sender-$i", \mt_rand(0, 3) / 1000);
                            $sent[] = "$sender-$i";
                        } catch (TimeoutError) {
                        }
                    }
                });
            }
            for ($receiver = 0; $receiver < 5; ++$receiver) {
                async(function () use ($channel, &$received): void {
                    foreach ($channel as $value) {
                        $received[] = $value;
                        self::pause(\mt_rand(0, 2) / 1000);
                    }
                });
            }
            foreach ($tasks as $task) {
                $task->await();
            }
            $channel->close();
            self::pause(1.0);
            \sort($sent);
            \sort($received);
            self::assertNotEmpty($received);
            self::assertSame($sent, $received);
        });
    }

    public function testNegativeCapacityIsRefused(): void
    {
        $this->expectExceptionMessage('-1 given');
        new Channel(-1);
    }
}
