<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pdo;

use function Hearth\async;

/** Connections that end while the pool or a task has them. */
trait BrokenConnections
{
    public function testDeadIdleConnectionIsReplacedUnseen(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(checkAfter: 0.05);
            $session = (string) async(fn () => $pdo->query(static::sessionId())->fetchColumn())->await();
            self::killSession($session);
            self::pause(0.2);
            self::assertNotSame($session, (string) async(fn () => $pdo->query(static::sessionId())->fetchColumn())->await());
            self::assertSame(['broken' => 1], $pdo->pool()->stats()['destroyed']);
        });
    }

    public function testConnectionKilledInUseIsSeenOnceAndNotLentAgain(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $task = async(function () use ($pdo): void {
                $session = (string) $pdo->query(static::sessionId())->fetchColumn();
                self::killSession($session);
                $pdo->query('SELECT 1');
            });
            $this->thrown(\PDOException::class, fn () => $task->await());
            self::assertSame(['broken' => 1], $pdo->pool()->stats()['destroyed']);
            self::assertSame(1, (int) async(fn () => $pdo->query('SELECT 1')->fetchColumn())->await());
        });
    }

    /** Runs $before, has the session of this task killed, and lets $during find that out. */
    private function broken(Pdo $pdo, ?callable $before, callable $during): string
    {
        if ($before !== null) {
            $before($pdo);
        }
        $session = (string) $pdo->query(static::sessionId())->fetchColumn();
        self::killSession($session);
        $this->thrown(\PDOException::class, fn () => $during($pdo));

        return $session;
    }

    /** @return array<string, \Closure(Pdo): mixed> what leaves no transaction open */
    private static function noTransaction(): array
    {
        return [
            'nothing' => static fn () => null,
            'a statement' => static fn (Pdo $pdo) => $pdo->prepare('SELECT ?')->execute([1]),
            'commit()' => static fn (Pdo $pdo) => [$pdo->beginTransaction(), $pdo->query('SELECT 1')->fetchAll(), $pdo->commit()],
            'rollBack()' => static fn (Pdo $pdo) => [$pdo->beginTransaction(), $pdo->rollBack()],
            'BEGIN, COMMIT' => static fn (Pdo $pdo) => [$pdo->exec('BEGIN'), $pdo->query('SELECT 1')->fetchAll(), $pdo->exec('COMMIT')],
            'START, ROLLBACK' => static fn (Pdo $pdo) => [$pdo->exec('start transaction'), $pdo->exec('/* all of it */ rollback')],
            'BEGIN, commit()' => static fn (Pdo $pdo) => [$pdo->query('BEGIN'), $pdo->commit()],
            'beginTransaction(), COMMIT' => static fn (Pdo $pdo) => [$pdo->beginTransaction(), $pdo->exec('COMMIT')],
            'of an earlier lease' => static function (Pdo $pdo): void {
                async(fn () => $pdo->query('BEGIN'))->await();
                self::settle($pdo->pool());
            },
        ];
    }

    /** @return array<string, \Closure(Pdo): mixed> what leaves one open */
    private static function transaction(): array
    {
        return [
            'beginTransaction()' => static fn (Pdo $pdo) => $pdo->beginTransaction(),
            'BEGIN' => static fn (Pdo $pdo) => $pdo->exec('BEGIN'),
            'START TRANSACTION' => static fn (Pdo $pdo) => $pdo->exec("-- a comment\n start  transaction"),
            'a query' => static fn (Pdo $pdo) => $pdo->query('BEGIN'),
            'a prepared BEGIN' => static fn (Pdo $pdo) => $pdo->prepare('BEGIN')->execute(),
            'a second one' => static fn (Pdo $pdo) => [$pdo->exec('BEGIN'), $pdo->exec('COMMIT'), $pdo->exec('BEGIN')],
            'a savepoint rolled back' => static fn (Pdo $pdo) => [$pdo->exec('BEGIN'), $pdo->exec('SAVEPOINT a'), $pdo->exec('ROLLBACK TO SAVEPOINT a')],
            'a query and others' => static fn (Pdo $pdo) => [$pdo->query('BEGIN'), $pdo->query('SELECT 1')->fetchAll(), $pdo->query('SELECT 1')->fetchAll()],
            'after another' => static fn (Pdo $pdo) => [$pdo->beginTransaction(), $pdo->commit(), $pdo->beginTransaction()],
        ];
    }

    public function testATaskWhoseConnectionBrokeGoesOnWithAnother(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            foreach (self::noTransaction() as $what => $before) {
                async(function () use ($pdo, $what, $before): void {
                    $session = $this->broken($pdo, $before, static fn () => $pdo->query('SELECT 1'));
                    self::assertFalse($pdo->inTransaction(), $what);
                    self::assertNotSame($session, (string) $pdo->query(static::sessionId())->fetchColumn(), $what);
                    self::assertTrue($pdo->beginTransaction());
                    self::assertTrue($pdo->inTransaction());
                    self::assertTrue($pdo->commit());
                })->await();
            }
        });
    }

    /** What showed the fault was to begin one: nothing is lost. */
    public function testATransactionThatCouldNotBeBegunIsNone(): void
    {
        $begin = [
            static fn (Pdo $pdo) => $pdo->beginTransaction(),
            static fn (Pdo $pdo) => $pdo->exec('BEGIN'),
        ];
        $this->inTask(function () use ($begin): void {
            $pdo = $this->pdo();
            foreach ($begin as $how) {
                async(function () use ($pdo, $how): void {
                    $session = $this->broken($pdo, null, $how);
                    self::assertFalse($pdo->inTransaction());
                    $pdo->release();
                    self::assertNotSame($session, (string) $pdo->query(static::sessionId())->fetchColumn());
                })->await();
            }
        });
    }

    /** It would not see that half of its transaction is lost. */
    public function testATaskWhoseConnectionBrokeInATransactionSeesThatUntilItRollsBack(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            foreach (self::transaction() as $what => $begin) {
                async(function () use ($pdo, $what, $begin): void {
                    $session = $this->broken($pdo, $begin, static fn () => $pdo->query('SELECT 1'));
                    foreach ([
                        static fn () => $pdo->query('SELECT 1'),
                        static fn () => $pdo->exec('CREATE TABLE never (id INT)'),
                        static fn () => $pdo->prepare('SELECT 1')->execute(),
                        static fn () => $pdo->exec('COMMIT'),
                        static fn () => $pdo->commit(),
                        static fn () => $pdo->release(),
                        static fn () => $pdo->query('SELECT 1'),
                    ] as $i => $call) {
                        try {
                            $call();
                            self::fail("$what: call $i did not fail");
                        } catch (\PDOException | \LogicException) {
                        }
                        self::assertTrue($pdo->inTransaction(), "$what: call $i");
                    }
                    $this->thrown(\PDOException::class, fn () => $pdo->rollBack());
                    self::assertFalse($pdo->inTransaction(), $what);
                    self::assertNotSame($session, (string) $pdo->query(static::sessionId())->fetchColumn(), $what);
                })->await();
                self::assertSame(1, (int) async(fn () => $pdo->query('SELECT 1')->fetchColumn())->await());
            }
        });
    }

    /** Nor that what it has set in its session is. */
    public function testATaskWhoseConnectionBrokeAfterItChangedTheSessionKeepsIt(): void
    {
        [$change] = \array_values(static::sessionChanges())[0];
        $this->inTask(function () use ($change): void {
            $pdo = $this->pdo();
            $this->broken($pdo, fn () => [$pdo->exec($change), $pdo->beginTransaction(), $pdo->rollBack()], static fn () => $pdo->query('SELECT 1'));
            $this->thrown(\PDOException::class, fn () => $pdo->query('SELECT 1'));
            self::assertSame(1, (int) async(fn () => $pdo->query('SELECT 1')->fetchColumn())->await());
        });
    }
}
