<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Doctrine\DBAL\Configuration;
use Doctrine\DBAL\Connection;
use Doctrine\DBAL\Driver\PDO\Connection as DriverConnection;
use Doctrine\DBAL\Driver\PDO\MySQL\Driver;
use Hearth\Channel;
use Hearth\Local;
use Hearth\Pool\Pdo;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;
use Illuminate\Database\MySqlConnection;

use function Hearth\async;

/** Libraries on a `Pool\Pdo` that count how deep their transactions are nested: docs/guide/pool.md has how to make their connections. */
final class LibrariesTest extends TestCase
{
    /** @return array<string, array{\Closure(\PDO): object, string}> makes a library's connection of a PDO; its method for statements */
    public static function libraries(): array
    {
        require_once 'Doctrine/DBAL/autoload.php';
        require_once 'Illuminate/Database/autoload.php';

        return [
            'Doctrine DBAL' => [self::dbal(...), 'executeStatement'],
            'Illuminate' => [static fn (\PDO $pdo) => new MySqlConnection($pdo), 'statement'],
        ];
    }

    /** As the guide has it. */
    private static function dbal(\PDO $pdo): Connection
    {
        $driver = new class ($pdo) extends \Doctrine\DBAL\Driver\AbstractMySQLDriver {
            public function __construct(private readonly \PDO $pdo)
            {
            }

            public function connect(array $params): DriverConnection
            {
                return new DriverConnection($this->pdo);
            }
        };

        return new Connection([], $driver, new Configuration());
    }

    /** @dataProvider libraries */
    public function testEachRequestHasAConnectionOfItsLibrary(\Closure $of, string $execute): void
    {
        $this->inTask(function () use ($of, $execute): void {
            $pdo = $this->pdo();
            $connection = new Local(static fn () => $of($pdo));
            $kept = new Channel();
            // Both are in a transaction at the same time; the one that is rolled back began first and ends first.
            $lost = \Hearth\background(static function () use ($connection, $execute, $kept): void {
                $db = $connection->get();
                $db->beginTransaction();
                $db->$execute("INSERT INTO libraries VALUES ('lost')");
                $kept->receive();
                $db->rollBack();
            });
            $other = \Hearth\background(static function () use ($connection, $execute, $kept, $lost): void {
                $db = $connection->get();
                $db->beginTransaction();
                $db->$execute("INSERT INTO libraries VALUES ('kept')");
                $kept->send(true);
                $lost->await();
                $db->commit();
            });
            $other->await();
            self::assertSame(['kept'], self::rows($pdo));
            $pdo->pool()->close();
        });
    }

    /** @dataProvider libraries */
    public function testAChildOfARequestHasItsOwn(\Closure $of, string $execute): void
    {
        $this->inTask(function () use ($of, $execute): void {
            $pdo = $this->pdo();
            $db = $of($pdo);
            $db->beginTransaction();
            $db->$execute("INSERT INTO libraries VALUES ('lost')");
            async(static function () use ($of, $pdo, $execute): void {
                $mine = $of($pdo);
                $mine->beginTransaction();
                $mine->$execute("INSERT INTO libraries VALUES ('kept')");
                $mine->commit();
            })->await();
            $db->rollBack();
            self::assertSame(['kept'], self::rows($pdo));
            $pdo->pool()->close();
        });
    }

    private function pdo(): Pdo
    {
        $pdo = new Pdo(...Services::mariadb(), ...['size' => 4, 'minimumIdle' => 0, 'borrowTimeout' => 10.0, 'returnTimeout' => 10.0]);
        $pdo->exec('CREATE OR REPLACE TABLE libraries (text VARCHAR(9))');

        return $pdo;
    }

    /** @return list<string> */
    private static function rows(Pdo $pdo): array
    {
        return $pdo->query('SELECT text FROM libraries')->fetchAll(\PDO::FETCH_COLUMN);
    }
}
