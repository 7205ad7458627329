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
                        static fn () => $mysqli->insert_id, static fn () => $mysqli->error, static fn () => $prepared->error,
                        static fn () => isset($mysqli->error), static fn () => \print_r($mysqli, true), static fn () => \print_r($prepared, true),
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
            for ($lease = 0; $lease < 3; ++$lease) {
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

    /** What the pool calls itself, between two leases, may use it. */
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
            for ($lease = 0; $lease < 3; ++$lease) {
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

    /**
     * @return iterable<string, array{\Closure(): \Closure(): object, \Closure(object): list<object>, \Closure(object): mixed, array<string, mixed>}> a factory, what makes
     *     statements, a query, and options of the pool
     */
    public static function statements(): iterable
    {
        $prepared = static function (\PDO $pdo): array {
            $made = [$pdo->prepare('SELECT 1'), $pdo->prepare('SELECT 2'), $pdo->query('SELECT 3')];
            foreach ($made as $statement) {
                $statement->execute();
                $statement->fetchAll();
            }

            return $made;
        };
        $one = static fn (\PDO $pdo) => (int) $pdo->query('SELECT 1')->fetchColumn();
        $native = [\PDO::ATTR_EMULATE_PREPARES => false];
        $mysqli = static function (\mysqli $mysqli): array {
            $statement = $mysqli->prepare('SELECT 1');
            $statement->execute();
            $result = $statement->get_result();
            $other = $mysqli->prepare('SELECT 2');
            $unbuffered = $mysqli->query('SELECT 3', \MYSQLI_USE_RESULT);
            $unbuffered->fetch_all();

            return [$statement, $result, $other, $unbuffered];
        };
        $resets = ['auto', 'transaction', 'none', 'callable' => static fn (object $connection) => true];
        foreach ($resets as $name => $reset) {
            $name = \is_string($reset) ? $reset : $name;
            yield "PDO of MariaDB, $name" => [static fn () => self::pdo([...Services::mariadb(), $native]), $prepared, $one, ['reset' => $reset]];
            yield "PDO of MariaDB, emulated, $name" => [static fn () => self::pdo(Services::mariadb()), $prepared, $one, ['reset' => $reset]];
            yield "PDO of PostgreSQL, $name" => [static fn () => self::pdo(Services::postgresql()), $prepared, $one, ['reset' => $reset]];
            yield "PDO of SQLite, $name" => [static fn () => self::pdo(['sqlite::memory:']), $prepared, $one, ['reset' => $reset]];
            yield "mysqli, $name" => [self::drivers()['mysqli'][0], $mysqli, static fn (\mysqli $it) => (int) $it->query('SELECT 1')->fetch_row()[0], ['reset' => $reset]];
        }
    }

    /**
     * Whether they go while the connection is reset, idle, or lent to another task in the middle of a query or a transaction: the connection stays.
     *
     * @dataProvider statements
     */
    public function testStatementsThatGoAfterTheReturnDoNoHarm(\Closure $factory, \Closure $make, \Closure $one, array $options): void
    {
        $this->needsTheServer();
        $this->inTask(function () use ($factory, $make, $one, $options): void {
            $logger = new ListLogger();
            $pool = $this->pool($factory(), $options + ['logger' => $logger]);
            $isIdle = static fn () => $pool->stats()['idle'] === 1;
            foreach (['at once', 'in the reset', 'idle', 'lent', 'lent again'] as $when) {
                $connection = $pool->borrow();
                self::assertSame(1, $one($connection), $when);
                $made = $make($connection);
                $pool->giveBack($connection);
                if ($when === 'in the reset') {
                    // One turn of the loop later the reset waits for the server.
                    self::pause(0.0);
                } elseif ($when !== 'at once') {
                    self::until($isIdle);
                }
                if ($when === 'lent') {
                    $this->freeBesideAQuery($pool, $one, $made);
                } elseif ($when === 'lent again') {
                    $connection = $pool->borrow();
                    $this->begin($connection);
                    $made = null;
                    self::assertSame(1, $one($connection), 'the transaction is whole');
                    $this->commit($connection);
                    $pool->giveBack($connection);
                }
                $made = null;
                self::until($isIdle);
                $pool->with(static fn (object $it) => self::assertSame(1, $one($it), $when));
                self::until($isIdle);
            }
            self::assertSame(1, $pool->stats()['created'], \json_encode($logger));
            self::assertSame([], $logger->lines);
            $pool->close();
        });
    }

    /** @param list<object>|null $made freed while another task waits for an answer, and while it has a transaction open */
    private function freeBesideAQuery(Pool $pool, \Closure $one, ?array &$made): void
    {
        [$begun, $freed] = [new Channel(), new Channel()];
        $other = async(function () use ($pool, $one, $begun, $freed): int {
            return $pool->with(function (object $connection) use ($one, $begun, $freed): int {
                $this->begin($connection);
                $begun->send(true);
                $this->wait($connection);
                $freed->receive();
                $answer = $one($connection);
                $this->commit($connection);

                return $answer;
            });
        });
        $begun->receive();
        \array_pop($made);
        $freed->send(true);
        $made = null;
        self::assertSame(1, $other->await());
    }

    private function begin(object $connection): void
    {
        $connection instanceof \PDO ? $connection->beginTransaction() : $connection->begin_transaction();
    }

    private function commit(object $connection): void
    {
        $connection->commit();
    }

    /** Until the server answers, some time later if it can. */
    private function wait(object $connection): void
    {
        match ($connection instanceof \PDO ? $connection->getAttribute(\PDO::ATTR_DRIVER_NAME) : 'mysql') {
            'mysql' => $connection->query('DO SLEEP(0.02)'),
            'pgsql' => $connection->query('SELECT pg_sleep(0.02)'),
            'sqlite' => self::pause(0.02),
        };
    }

    /** The next borrower would read what is left of another's answer. */
    public function testAConnectionWithAResultThatWasNotReadIsClosed(): void
    {
        $this->needsTheServer();
        $rows = 'SELECT 1 UNION SELECT 2 UNION SELECT 3';
        $pgsql = self::drivers()['PgSql\Connection'][0]();
        $mysqli = self::drivers()['mysqli'][0]();
        $unbuffered = [\PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false];
        $kinds = [
            [self::pdo([...Services::mariadb(), $unbuffered]), static fn (\PDO $pdo) => [$it = $pdo->query($rows), $it->fetch()][0]],
            [$mysqli, static fn (\mysqli $it) => $it->query($rows, \MYSQLI_USE_RESULT)],
            [$mysqli, static fn (\mysqli $it) => $it->real_query($rows)],
            [$mysqli, static fn (\mysqli $it) => $it->multi_query('SELECT 1; SELECT 2')],
            [$mysqli, static fn (\mysqli $it) => $it->query('SELECT SLEEP(0.05)', \MYSQLI_ASYNC)],
            [$pgsql, static fn (\PgSql\Connection $it) => \pg_send_query($it, 'SELECT pg_sleep(0.05)')],
        ];
        foreach ($kinds as $number => [$factory, $leave]) {
            foreach (['auto', 'transaction', 'none'] as $reset) {
                $this->inTask(function () use ($factory, $leave, $reset, $number): void {
                    $logger = new ListLogger();
                    $pool = $this->pool($factory, ['reset' => $reset, 'logger' => $logger]);
                    $connection = $pool->borrow();
                    $left = $leave($connection);
                    $pool->giveBack($connection);
                    unset($left, $connection);
                    $pool->with(static fn (object $it) => self::assertNotFalse(
                        $it instanceof \PgSql\Connection ? \pg_query($it, 'SELECT 1') : $it->query('SELECT 1'),
                    ));
                    self::assertSame(['statement' => 1], \array_filter($pool->stats()['destroyed']), "$number, $reset");
                    self::assertStringContainsString('a result that was not read', \json_encode($logger->lines));
                    $pool->close();
                });
            }
        }
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
