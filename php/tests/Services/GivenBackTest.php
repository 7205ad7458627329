<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Channel;
use Hearth\Pool\NotBorrowed;
use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;

/** A connection that code still holds after giveBack(): each call on it is refused before the extension is entered. */
final class GivenBackTest extends TestCase
{
    /** @return array<string, array{\Closure(): \Closure(): object, \Closure(object): list<\Closure(): mixed>}> a factory, and calls on a connection and on what was made of it */
    public static function drivers(): array
    {
        $pdo = static function (\PDO $pdo): array {
            $prepared = $pdo->prepare('SELECT 1');
            $result = $pdo->query('SELECT 1');

            return [
                static fn () => $pdo->query('SELECT 1'), static fn () => $pdo->exec('SELECT 1'), static fn () => $pdo->prepare('SELECT 1'),
                $pdo->beginTransaction(...), $pdo->inTransaction(...), static fn () => $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT),
                static fn () => $prepared->execute(), static fn () => $result->fetchAll(), static fn () => \call_user_func([$pdo, 'exec'], 'SELECT 1'),
            ];
        };

        return [
            'PDO of MariaDB' => [static fn () => self::pdo(Services::mariadb()), $pdo],
            'PDO of PostgreSQL' => [static fn () => self::pdo(Services::postgresql()), $pdo],
            'PDO of SQLite' => [static fn () => self::pdo(['sqlite::memory:']), $pdo],
            'mysqli' => [
                static function (): \Closure {
                    \preg_match('/unix_socket=([^;]+)/', Services::mariadb()[0], $found);

                    return static fn () => new \mysqli('localhost', 'root', '', 'test', 0, $found[1]);
                },
                static function (\mysqli $mysqli): array {
                    $prepared = $mysqli->prepare('SELECT 1');
                    $result = $mysqli->query('SELECT 1', \MYSQLI_USE_RESULT);
                    $result->fetch_all();

                    return [
                        static fn () => $mysqli->query('SELECT 1'), static fn () => \mysqli_query($mysqli, 'SELECT 1'), static fn () => $mysqli->begin_transaction(),
                        static fn () => $prepared->execute(), static fn () => \mysqli_stmt_execute($prepared), static fn () => $result->free(), static fn () => $mysqli->close(),
                    ];
                },
            ],
            'PgSql\Connection' => [
                static function (): \Closure {
                    $string = \strtr(\substr(Services::postgresql()[0], 6), ';', ' ') . ' user=test';

                    return static fn () => \pg_connect($string, \PGSQL_CONNECT_FORCE_NEW);
                },
                static fn (\PgSql\Connection $link) => [
                    static fn () => \pg_query($link, 'SELECT 1'), static fn () => \pg_prepare($link, 'mine', 'SELECT 1'),
                    static fn () => \pg_query_params($link, 'SELECT 1', []), static fn () => \pg_close($link),
                ],
            ],
            'Redis' => [
                static function (): \Closure {
                    $socket = Services::redis();

                    return static function () use ($socket): \Redis {
                        $redis = new \Redis();
                        $redis->connect($socket);

                        return $redis;
                    };
                },
                static fn (\Redis $redis) => [static fn () => $redis->ping(), static fn () => $redis->rawCommand('PING'), static fn () => $redis->multi(), static fn () => $redis->close()],
            ],
        ];
    }

    /** @param array<int, string> $arguments */
    private static function pdo(array $arguments): \Closure
    {
        return static fn () => new \PDO(...$arguments);
    }

    /** @dataProvider drivers */
    public function testACallOnAConnectionThatWasGivenBackIsRefused(\Closure $factory, \Closure $calls): void
    {
        $this->needsTheServer();
        $this->inTask(function () use ($factory, $calls): void {
            $pool = $this->pool($factory());
            [$connection, $refused] = $this->borrow($pool, $calls);
            $pool->giveBack($connection);
            $this->assertRefused('was given back', $refused);
            self::until(static fn () => $pool->stats()['idle'] === 1);
            $this->assertRefused('was given back', $refused);
            // It works for the next.
            self::assertGreaterThan(0, async(fn () => \count($this->borrow($pool, $calls)[1]))->await());
            self::until(static fn () => $pool->stats()['idle'] === 1);
            $pool->close();
        });
    }

    /** It went from hand to hand, or was taken from the idle ones. */
    public function testACallOnAConnectionThatAnotherTaskHasIsRefused(): void
    {
        $this->needsTheServer();
        foreach (self::drivers() as [$factory, $calls]) {
            $this->inTask(function () use ($factory, $calls): void {
                $pool = $this->pool($factory(), ['reset' => 'none']);
                [$connection, $refused] = $this->borrow($pool, $calls);
                $done = new Channel();
                $other = async(static function () use ($pool, $done): object {
                    $pool->borrow();

                    return $done->receive();
                });
                self::assertSame(1, $pool->stats()['waiting']);
                $pool->giveBack($connection);
                $this->assertRefused('was given back', $refused);
                self::until(static fn () => $pool->stats()['waiting'] === 0 && $pool->stats()['active'] === 1);
                $this->assertRefused('is lent to task', $refused);
                $done->send($pool);
                self::assertSame($pool, $other->await());
                $pool->close();
            });
        }
    }

    public function testABorrowerAndTheTasksItStartsMayUseIt(): void
    {
        $this->needsTheServer();
        $this->inTask(function (): void {
            $pool = $this->pool(self::pdo(Services::mariadb()));
            for ($loan = 0; $loan < 3; ++$loan) {
                $pool->with(function (\PDO $pdo): void {
                    $one = static fn (): int => (int) $pdo->query('SELECT 1')->fetchColumn();
                    self::assertSame(1, $one());
                    self::assertSame(1, async($one)->await());
                    self::assertSame(1, async(static fn () => async($one)->await())->await());
                    self::assertSame(1, \Hearth\timeout(5, $one));
                    $fiber = new \Fiber($one);
                    $fiber->start();
                    self::assertSame(1, $fiber->getReturn());
                });
            }
            $pool->close();
        });
    }

    /** What the pool calls itself, between two loans, may use it. */
    public function testThePoolsOwnCallablesMayUseIt(): void
    {
        $this->needsTheServer();
        $this->inTask(function (): void {
            $called = [];
            $use = static function (string $what) use (&$called): \Closure {
                return static function (\PDO $pdo) use (&$called, $what): bool {
                    $called[$what] = $pdo->query('SELECT 1')->fetchColumn() && async(static fn () => $pdo->query('SELECT 1'))->await();

                    return true;
                };
            };
            $logger = new ListLogger();
            $pool = $this->pool(self::pdo(Services::mariadb()), [
                'init' => $use('init'), 'reset' => $use('reset'), 'check' => $use('check'), 'keepalive' => $use('keepalive'),
                'keepaliveInterval' => 0.05, 'checkAfter' => 0.0, 'logger' => $logger,
            ]);
            for ($loan = 0; $loan < 3; ++$loan) {
                async(static fn () => $pool->with(static fn (\PDO $pdo) => $pdo->exec('DO 1')))->await();
                foreach (['init', 'reset', 'keepalive', 'check'] as $what) {
                    if ($what === 'check') {
                        // What was asked a moment ago is not asked again.
                        self::pause(0.01);
                        $pool->with(static fn () => null);
                    }
                    self::until(static function () use (&$called, $what): bool {
                        return isset($called[$what]);
                    });
                }
                $called = [];
            }
            self::assertSame(1, $pool->stats()['created'], \json_encode($logger));
            $pool->close();
        });
    }

    private function needsTheServer(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('calls of extensions are seen by the server only');
        }
    }

    private function pool(\Closure $factory, array $options = []): Pool
    {
        return new Pool(...$options + ['factory' => $factory, 'size' => 1, 'minimumIdle' => 0, 'borrowTimeout' => 10.0, 'returnTimeout' => 10.0, 'logger' => new ListLogger(), 'name' => 'orders']);
    }

    /** @return array{object, list<\Closure>} a connection, and calls that are allowed while it is borrowed */
    private function borrow(Pool $pool, \Closure $calls): array
    {
        $connection = $pool->borrow();

        return [$connection, $calls($connection)];
    }

    /** @param list<\Closure> $calls */
    private function assertRefused(string $why, array $calls): void
    {
        foreach ($calls as $number => $call) {
            $error = null;
            try {
                $call();
            } catch (NotBorrowed $error) {
            }
            self::assertNotNull($error, "call $number went through");
            self::assertStringContainsString('pool "orders"', $error->getMessage());
            self::assertStringContainsString($why, $error->getMessage(), "call $number");
        }
    }
}
