<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Entry;
use Hearth\Pool\PdoDriver;
use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;
use function Hearth\parallel;

/** Pools of mysqli, of ext/pgsql, and of PDO with a driver that the pool does not know. What a lease leaves in a session is StatesTest's. */
final class OtherDriversTest extends TestCase
{
    /** @return array<string, array{\Closure(): \Closure(): object, \Closure(object): int, \Closure(int): mixed}> a factory, the session's number, and its end */
    public static function drivers(): array
    {
        return [
            'mysqli' => [
                static function (): \Closure {
                    \preg_match('/unix_socket=([^;]+)/', Services::mariadb()[0], $found);

                    return static fn () => new \mysqli('localhost', 'root', '', 'test', 0, $found[1]);
                },
                static fn (\mysqli $mysqli) => (int) $mysqli->query('SELECT CONNECTION_ID()')->fetch_row()[0],
                self::killInMariadb(...),
            ],
            'pgsql' => [
                static function (): \Closure {
                    $string = \strtr(\substr(Services::postgresql()[0], 6), ';', ' ') . ' user=test';

                    return static fn () => \pg_connect($string, \PGSQL_CONNECT_FORCE_NEW);
                },
                static fn (\PgSql\Connection $link) => (int) \pg_fetch_result(\pg_query($link, 'SELECT pg_backend_pid()'), 0, 0),
                static fn (int $number) => (new \PDO(...Services::postgresql()))->exec("SELECT pg_terminate_backend($number)"),
            ],
        ];
    }

    /** Under plain php the pool closes the connection after its lease, so it may be gone already. */
    private static function killInMariadb(int $number): void
    {
        try {
            (new \PDO(...Services::mariadb()))->exec("KILL $number");
        } catch (\PDOException $e) {
            if (1094 !== ($e->errorInfo[1] ?? 0)) {
                throw $e;
            }
        }
    }

    /** @dataProvider drivers */
    public function testAKilledConnectionIsReplacedUnseen(\Closure $factory, \Closure $number, \Closure $kill): void
    {
        $factory = $factory();
        $this->inTask(function () use ($factory, $number, $kill): void {
            $pool = new Pool($factory, size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, checkAfter: 0.0, logger: new ListLogger());
            $seen = [];
            for ($n = 0; $n < 3; ++$n) {
                $seen[] = $killed = async(static fn () => $pool->with($number))->await();
                self::until(static fn () => $pool->stats()['idle'] === 1 || !\function_exists('Hearth\Internal\mysqlReset'));
                $kill($killed);
                self::pause(0.05);
            }
            self::assertCount(3, \array_unique($seen));
            $pool->close();
        });
    }

    /** @dataProvider drivers */
    public function testAConnectionThatIsKilledInUseIsReplaced(\Closure $factory, \Closure $number, \Closure $kill): void
    {
        $factory = $factory();
        $this->inTask(function () use ($factory, $number, $kill): void {
            $pool = new Pool($factory, size: 1, minimumIdle: 0, borrowTimeout: 10, returnTimeout: 10, logger: new ListLogger());
            $killed = async(static function () use ($pool, $number, $kill): int {
                $connection = $pool->borrow();
                $mine = $number($connection);
                $kill($mine);
                \usleep(50_000);
                try {
                    @$number($connection);
                } catch (\Throwable) {
                }
                $pool->giveBack($connection);

                return $mine;
            })->await();
            self::assertNotSame($killed, async(static fn () => $pool->with($number))->await());
            $pool->close();
        });
    }

    /** The extension remembers the connection that was opened last, and so its place was never free. */
    public function testAReplacedConnectionGivesItsPlaceFree(): void
    {
        [$make, $number] = self::drivers()['pgsql'];
        $factory = $make();
        $this->inTask(function () use ($factory, $number): void {
            $pool = new Pool($factory, size: 1, minimumIdle: 0, borrowTimeout: 2, returnTimeout: 10, logger: new ListLogger());
            $first = $pool->with($number);
            $pool->recycle();
            self::assertNotSame($first, $pool->with($number));
            $pool->close();
        });
    }

    /** The pool reads the variables of a session, which have no index. */
    public function testAPoolConnectsWhileMissingIndexesAreReported(): void
    {
        [$factory, $number] = self::drivers()['mysqli'];
        $connect = $factory();
        $mode = (new \mysqli_driver())->report_mode;
        $factory = static function () use ($connect): \mysqli {
            \mysqli_report(\MYSQLI_REPORT_ALL);

            return $connect();
        };
        $this->inTask(static function () use ($factory, $number): void {
            $pool = new Pool($factory, size: 2, minimumIdle: 0, borrowTimeout: 10.0, logger: new ListLogger());
            $borrow = static fn () => $pool->with($number);
            self::assertCount(2, \array_filter(parallel([$borrow, $borrow])), 'both connect at once');
            $pool->close();
        });
        \mysqli_report($mode);
    }

    /** A session of another server than the three cannot be reset, so the connection must not be lent again if the session may have changed. */
    public function testASessionOfAnUnknownDriverIsNotHandedOn(): void
    {
        $entry = new Entry(new \PDO('sqlite::memory:'), 0.0, 1.0, 1.0);
        $driver = new PdoDriver('odbc', false);
        $driver->adopt($entry);
        self::assertTrue($driver->needsReset($entry), 'what a lease has done is not known');
        $entry->watched = true;
        self::assertFalse($driver->needsReset($entry), 'it is known, and nothing');
        $entry->dirty = true;
        self::assertTrue($driver->needsReset($entry));
        self::assertFalse((new PdoDriver('odbc', true))->needsReset($entry), 'the app knows that no code changes the session');
        $this->expectExceptionMessage("the pool cannot reset a session of PDO's driver \"odbc\"");
        $driver->reset($entry);
    }
}
