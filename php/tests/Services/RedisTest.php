<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Redis;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;
use function Hearth\parallel;

final class RedisTest extends TestCase
{
    private ListLogger $logger;
    private ?Redis $redis = null;

    protected function setUp(): void
    {
        if (!\extension_loaded('redis')) {
            self::markTestSkipped('phpredis is not installed');
        }
        $this->logger = new ListLogger();
        Services::redis();
    }

    protected function tearDown(): void
    {
        $this->redis?->pool()->close();
    }

    private function redis(mixed ...$options): Redis
    {
        return $this->redis = new Redis(Services::redis(), ...$options + ['size' => 2, 'minimumIdle' => 0, 'borrowTimeout' => 10.0, 'returnTimeout' => 10.0, 'logger' => $this->logger]);
    }

    public function testIsARedis(): void
    {
        $this->inTask(function (): void {
            $redis = $this->redis();
            self::assertInstanceOf(\Redis::class, $redis);
            self::assertTrue($redis->set('key', 'value'));
            self::assertSame('value', $redis->get('key'));
            self::assertSame([true, 'value'], $redis->multi()->set('other', 1)->get('key')->exec());
            self::assertSame([true, true], $redis->pipeline()->set('a', 1)->set('b', 2)->exec());
            $found = [];
            $cursor = null;
            while (($keys = $redis->scan($cursor, 'k*', 100)) !== false) {
                $found = [...$found, ...$keys];
            }
            self::assertSame(['key'], $found);
            self::assertSame(3, $redis->eval('return ARGV[1] + 1', [2]));
            self::assertSame(2, $redis->zAdd('set', 1, 'one', 2, 'two'));
        });
    }

    public function testOneThatTheAppDropsClosesItsConnections(): void
    {
        $this->inTask(function (): void {
            $plain = new \Redis();
            $plain->connect(Services::redis());
            $clients = static fn (): int => \count(\array_filter($plain->client('LIST'), static fn (array $client) => $client['name'] === 'dropped'));
            for ($n = 0; $n < 3; ++$n) {
                async(static function () use ($clients): void {
                    $redis = new Redis(Services::redis(), size: 4, minimumIdle: 2, logger: new ListLogger(), init: static fn (\Redis $new) => $new->client('SETNAME', 'dropped'));
                    $redis->ping();
                    self::assertGreaterThan(0, $clients());
                })->await();
            }
            self::until(static fn () => $clients() === 0);
        });
    }

    public function testEachTaskHasItsOwnConnection(): void
    {
        $this->inTask(function (): void {
            $redis = $this->redis(size: 4, borrowTimeout: 30);
            $redis->set('counter', 0);
            parallel(\array_fill(0, 100, function () use ($redis): void {
                $redis->multi();
                self::pause(\mt_rand(0, 2) / 1000);
                $redis->incr('counter');
                self::assertCount(1, $redis->exec());
            }));
            self::assertSame('100', $redis->get('counter'));
        });
    }

    public function testWhatATaskLeavesBehindIsTidiedUp(): void
    {
        $this->inTask(function (): void {
            $redis = $this->redis(size: 1, database: 2, options: [\Redis::OPT_PREFIX => 'p:']);
            async(function () use ($redis): void {
                $redis->select(5);
                $redis->setOption(\Redis::OPT_PREFIX, 'q:');
                $redis->watch('key');
                $redis->multi();
                $redis->set('key', 'never');
            })->await();
            async(function () use ($redis): void {
                self::assertSame([2, 'p:', \Redis::ATOMIC], [$redis->getDBNum(), $redis->getOption(\Redis::OPT_PREFIX), $redis->getMode()]);
                self::assertFalse($redis->get('key'));
            })->await();
            self::assertSame([1, 1], [$redis->pool()->stats()['created'], $redis->pool()->stats()['rollbacks']]);
        });
    }

    /** @return array<string, array{\Closure(Redis): mixed, \Closure(Redis): mixed}> what may change a connection, and what shows it */
    public static function hiddenChanges(): array
    {
        $info = static fn (Redis $redis) => \preg_match('/ flags=(\w+) db=(\d+) /', $redis->rawCommand('CLIENT', 'INFO'), $found) ? [$found[1], $found[2]] : null;

        return [
            'a raw command in lower case' => [static fn (Redis $redis) => $redis->rawcommand('select', '5'), $info],
            'a method in other case' => [static fn (Redis $redis) => $redis->SELECT(5), $info],
            'tracking' => [static fn (Redis $redis) => $redis->client('tracking', 'on'), $info],
            'SELECT in a script' => [static fn (Redis $redis) => $redis->eval("redis.call('select', 7)"), $info],
            'an error' => [static fn (Redis $redis) => $redis->eval('return nothing'), static fn (Redis $redis) => $redis->getLastError()],
            'an error, after a command' => [static fn (Redis $redis) => $redis->eval('return nothing'), static fn (Redis $redis) => $redis->ping() ? $redis->getLastError() : ''],
        ];
    }

    /** @dataProvider hiddenChanges */
    public function testAHiddenChangeDoesNotReachTheNextLease(\Closure $change, \Closure $show): void
    {
        $this->inTask(function () use ($change, $show): void {
            $clean = async(fn () => $show($this->redis(size: 1)))->await();
            $this->redis->pool()->close();
            $redis = $this->redis(size: 1);
            async(static fn () => $change($redis))->await();
            self::assertSame($clean, async(static fn () => $show($redis))->await());
        });
    }

    public function testPlainCommandsNeedNoReset(): void
    {
        $this->inTask(function (): void {
            $redis = $this->redis();
            async(fn () => $redis->set('a', 'b'))->await();
            self::assertSame([0, 1], [$redis->pool()->stats()['resets'], $redis->pool()->stats()['idle']]);
        });
    }

    public function testDeadIdleConnectionIsReplacedUnseen(): void
    {
        $this->inTask(function (): void {
            $redis = $this->redis(checkAfter: 0.05);
            async(fn () => $redis->set('a', 'b'))->await();
            $plain = new \Redis();
            $plain->connect(Services::redis());
            $plain->rawCommand('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
            self::pause(0.2);
            self::assertSame('b', async(fn () => $redis->get('a'))->await());
        });
    }

    /** A proxy accepts although there is no server behind it. */
    public function testAServerThatAcceptsAndDropsIsTriedLessAndLess(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('a shim cannot accept while it connects');
        }
        $this->inTask(function (): void {
            $server = \stream_socket_server('tcp://127.0.0.1:0');
            $accepted = 0;
            $proxy = async(function () use ($server, &$accepted): void {
                while (($client = \stream_socket_accept($server, 60)) !== false) {
                    ++$accepted;
                    \fclose($client);
                }
            });
            [$host, $port] = \explode(':', \stream_socket_get_name($server, false));
            $redis = $this->redis = new Redis($host, (int) $port, size: 4, minimumIdle: 0, borrowTimeout: 1.0, logger: $this->logger);
            $until = \microtime(true) + 1.0;
            while (\microtime(true) < $until) {
                $this->thrown(\RedisException::class, static fn () => async(static fn () => $redis->get('a'))->await());
            }
            self::assertLessThan(20, $accepted);
            $proxy->cancel();
        });
    }

    public function testUnreachableIsARedisException(): void
    {
        $this->inTask(function (): void {
            $this->redis = $redis = new Redis('/nowhere/redis.sock', minimumIdle: 0, logger: $this->logger);
            $this->thrown(\RedisException::class, fn () => $redis->get('a'));
        });
    }

    public function testConnectLater(): void
    {
        $this->inTask(function (): void {
            $redis = new Redis(minimumIdle: 0);
            $this->thrown(\RedisException::class, fn () => $redis->get('a'));
            self::assertTrue($redis->connect(Services::redis()));
            self::assertTrue($redis->set('a', 1));
            $this->thrown(\RedisException::class, fn () => $redis->connect('127.0.0.1'));
            self::assertTrue($redis->close());
            self::assertSame('1', $redis->get('a'));
            $redis->pool()->close();
        });
    }
}
