<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pdo;
use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;
use function Hearth\background;

/** A lease that ends while another task still waits on its connection. */
final class InUseTest extends TestCase
{
    /** @return array<string, array{\Closure(mixed...): object, \Closure(object): \Closure(): mixed, \Closure(object): mixed}> a pool; what waits on a connection; a query */
    public static function drivers(): array
    {
        $mariadb = Services::mariadb();
        $postgresql = Services::postgresql();
        \preg_match('/unix_socket=([^;]+)/', $mariadb[0], $socket);
        $string = \strtr(\substr($postgresql[0], 6), ';', ' ') . ' user=test';
        $prepared = static fn (string $sql) => static function (\PDO $pdo) use ($sql): \Closure {
            $statement = $pdo->prepare($sql);

            return static fn () => $statement->execute();
        };
        $one = static fn (\PDO $pdo): int => (int) $pdo->query('SELECT 7')->fetchColumn();
        $ofPdo = static fn (array $service) => static fn (mixed ...$options) => new Pdo(...[...$service, null], ...$options);
        $plain = static fn (array $service) => static fn (mixed ...$options) => new Pool(static fn () => new \PDO(...$service), ...$options);

        return [
            'Pool\Pdo, MariaDB' => [$ofPdo($mariadb), $prepared('SELECT SLEEP(0.3)'), $one],
            'Pool\Pdo, PostgreSQL' => [$ofPdo($postgresql), $prepared('SELECT pg_sleep(0.3)'), $one],
            'PDO, MariaDB' => [$plain($mariadb), $prepared('SELECT SLEEP(0.3)'), $one],
            'PDO, PostgreSQL' => [$plain($postgresql), $prepared('SELECT pg_sleep(0.3)'), $one],
            'PDO, SQLite' => [$plain(['sqlite::memory:']), static function (\PDO $pdo): \Closure {
                $pdo->sqliteCreateFunction('waits', static fn () => self::pause(0.3));

                return static fn () => $pdo->query('SELECT waits()');
            }, $one],
            'mysqli' => [
                static fn (mixed ...$options) => new Pool(static fn () => new \mysqli('localhost', 'root', '', 'test', 0, $socket[1]), ...$options),
                static fn (\mysqli $mysqli) => static fn () => $mysqli->query('SELECT SLEEP(0.3)'),
                static fn (\mysqli $mysqli): int => (int) $mysqli->query('SELECT 7')->fetch_row()[0],
            ],
            'pgsql' => [
                static fn (mixed ...$options) => new Pool(static fn () => \pg_connect($string, \PGSQL_CONNECT_FORCE_NEW), ...$options),
                static fn (\PgSql\Connection $link) => static fn () => \pg_query($link, 'SELECT pg_sleep(0.3)'),
                static fn (\PgSql\Connection $link): int => (int) \pg_fetch_result(\pg_query($link, 'SELECT 7'), 0, 0),
            ],
        ];
    }

    /** @dataProvider drivers */
    public function testItsConnectionIsNotLentAgainAndItsPlaceIsFree(\Closure $pool, \Closure $wait, \Closure $query): void
    {
        if (!$this->native()) {
            self::markTestSkipped('calls of extensions are seen by the server only');
        }
        $this->inTask(static function () use ($pool, $wait, $query): void {
            $logger = new ListLogger();
            $pool = $pool(size: 4, total: 4, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: $logger);
            $inner = $pool instanceof Pool ? $pool : $pool->pool();
            $use = static fn () => $pool instanceof Pool ? $pool->with($query) : $query($pool);
            $waiting = [];
            for ($n = 0; $n < 6; ++$n) {
                if (\count($waiting) === 2) {
                    self::settle($waiting);
                }
                async(static function () use ($pool, $wait, &$waiting): void {
                    $waiting[] = background($wait($pool instanceof Pool ? $pool->borrow() : $pool));
                })->await();
                self::assertFalse(\end($waiting)->isDone());
                self::assertSame(7, async($use)->await());
            }
            self::settle($waiting);
            self::assertSame(['in use' => 6], \array_filter($inner->stats()['destroyed']), \json_encode($logger));
            self::assertStringContainsString('still waits on it', \json_encode($logger->lines));
            self::assertSame(7, async($use)->await());
            // One may be reset while another is made.
            self::assertLessThanOrEqual(2, $inner->stats()['total']);
            $inner->close();
        });
    }

    /** @param list<\Hearth\Task> $waiting waits for their ends; their connections were closed */
    private static function settle(array &$waiting): void
    {
        foreach ($waiting as $task) {
            try {
                $task->await();
            } catch (\Throwable) {
            }
        }
        $task = null;
        $waiting = [];
    }
}
