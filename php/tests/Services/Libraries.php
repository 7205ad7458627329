<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use function Hearth\parallel;

/** Libraries that are given the PDO of a pool. */
trait Libraries
{
    public function testDoctrine(): void
    {
        if (!\class_exists(\Doctrine\DBAL\DriverManager::class)) {
            self::markTestSkipped('Doctrine DBAL is not installed');
        }
        self::table('dbal');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 4, borrowTimeout: 60);
            parallel(\array_map(fn (int $i) => function () use ($pdo, $i): void {
                $dbal = new \Doctrine\DBAL\Connection([], static::doctrineDriver($pdo));
                $dbal->transactional(function () use ($dbal, $i): void {
                    $dbal->insert('dbal', ['id' => $i, 'n' => $i * 2]);
                });
                self::pause(\mt_rand(0, 2) / 1000);
                self::assertSame($i * 2, (int) $dbal->fetchOne('SELECT n FROM dbal WHERE id = ?', [$i]));
                self::assertCount(1, $dbal->executeQuery('SELECT * FROM dbal WHERE id = :id', ['id' => $i])->fetchAllAssociative());
            }, \range(1, 200)));
            self::assertSame(40200, (int) self::plain()->query('SELECT SUM(n) FROM dbal')->fetchColumn());
        });
    }

    /** A DBAL driver over a PDO that exists. */
    abstract protected static function doctrineDriver(\PDO $pdo): \Doctrine\DBAL\Driver;

    /** The class of Illuminate's connection. */
    abstract protected static function eloquentConnection(): string;

    public function testEloquent(): void
    {
        if (!\class_exists(\Illuminate\Database\Connection::class)) {
            self::markTestSkipped('illuminate/database is not installed');
        }
        self::table('eloquent');
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 4, borrowTimeout: 60);
            $class = static::eloquentConnection();
            parallel(\array_map(fn (int $i) => function () use ($pdo, $i, $class): void {
                $connection = new $class($pdo);
                $connection->transaction(fn () => $connection->table('eloquent')->insert(['id' => $i, 'n' => $i]));
                self::pause(\mt_rand(0, 2) / 1000);
                self::assertSame($i, (int) $connection->table('eloquent')->where('id', $i)->value('n'));
                self::assertSame(1, $connection->table('eloquent')->where('id', $i)->update(['n' => $i * 3]));
            }, \range(1, 200)));
            self::assertSame(60300, (int) self::plain()->query('SELECT SUM(n) FROM eloquent')->fetchColumn());
        });
    }
}
