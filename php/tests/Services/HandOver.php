<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pdo;

use function Hearth\async;

/** A connection that comes back while a task waits for it: in the server that goes past all PHP code, if it is in order. */
trait HandOver
{
    /** @return array<string, array{\Closure(Pdo): mixed, bool}> what a task does, and whether its connection can be lent again */
    public static function waysToLeaveAConnection(): array
    {
        $ways = [
            'in order' => [static fn (Pdo $pdo) => $pdo->query('SELECT 1')->fetchAll(), true],
            'after a transaction' => [static fn (Pdo $pdo) => [$pdo->beginTransaction(), $pdo->exec('DELETE FROM handed'), $pdo->commit()], true],
            'in a transaction' => [static fn (Pdo $pdo) => [$pdo->beginTransaction(), $pdo->exec('INSERT INTO handed VALUES (1, 1)')], true],
            'with another attribute' => [static fn (Pdo $pdo) => $pdo->setAttribute(\PDO::ATTR_CASE, \PDO::CASE_UPPER), true],
            'evicted' => [static fn (Pdo $pdo) => $pdo->pool()->evict($pdo->pool()->borrow()), false],
            'recycled' => [static fn (Pdo $pdo) => [$pdo->query('SELECT 1')->fetchAll(), $pdo->pool()->recycle()], false],
        ];
        foreach (static::sessionChanges() as $name => [$change]) {
            $ways["with another $name"] = [static fn (Pdo $pdo) => $pdo->exec($change), true];
        }

        return $ways;
    }

    /**
     * @dataProvider waysToLeaveAConnection
     * @param \Closure(Pdo): mixed $leave
     */
    public function testWhoWaitsFindsNothingOfWhoHadItBefore(\Closure $leave, bool $isLentAgain): void
    {
        self::table('handed');
        $this->inTask(function () use ($leave, $isLentAgain): void {
            $pdo = $this->pdo(size: 1, borrowTimeout: 10.0);
            $session = static fn () => (string) $pdo->query(static::sessionId())->fetchColumn();
            $fresh = self::looks(self::plain());
            async($session)->await();
            $first = async(function () use ($session, $leave, $pdo): string {
                $mine = $session();
                $leave($pdo);
                self::pause(0.01);

                return $mine;
            });
            $second = async(static fn () => [$session(), self::looks($pdo), $pdo->inTransaction()]);
            self::assertSame(1, $pdo->pool()->stats()['waiting']);
            [$theirs, $looks, $inTransaction] = $second->await();
            self::assertSame([$fresh, false], [$looks, $inTransaction]);
            if ($this->native()) {
                // Without the native part a MySQL session cannot be reset.
                self::assertSame($isLentAgain, $theirs === $first->await());
            }
            self::assertSame(0, (int) self::plain()->query('SELECT COUNT(*) FROM handed')->fetchColumn());
        });
    }

    /** @return array<string, mixed> how a session looks to who gets it */
    private static function looks(\PDO $pdo): array
    {
        $looks = ['case' => $pdo->getAttribute(\PDO::ATTR_CASE)];
        foreach (static::sessionChanges() as $name => [, $query]) {
            try {
                $looks[$name] = $pdo->query($query)->fetchColumn();
            } catch (\PDOException $error) {
                $looks[$name] = $error->getCode();
            }
        }

        return $looks;
    }
}
