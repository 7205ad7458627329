<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Statement;
use Hearth\Tests\Fixtures\AppStatement;
use Hearth\Tests\Fixtures\PlainStatement;

use function Hearth\async;

/** What a lease of `Pool\Pdo` leaves behind besides the state of its session. */
trait Leftovers
{
    /** @return array<string, array{\Closure(\PDO): \PDOStatement, bool}> makes a statement of a class of the app, and whether it knows its lease */
    public static function statementClasses(): array
    {
        $set = static fn (string $class) => static function (\PDO $pdo) use ($class): \PDOStatement {
            $pdo->setAttribute(\PDO::ATTR_STATEMENT_CLASS, [$class]);

            return $pdo->prepare('SELECT 1');
        };

        return [
            'of its own' => [$set(PlainStatement::class), false],
            'of its own, for one' => [static fn (\PDO $pdo) => $pdo->prepare('SELECT 1', [\PDO::ATTR_STATEMENT_CLASS => [PlainStatement::class]]), false],
            'from the pool\'s' => [$set(AppStatement::class), true],
            'PDO\'s' => [$set(\PDOStatement::class), true],
        ];
    }

    /** @dataProvider statementClasses */
    public function testAStatementOfAnyClassRunsInItsLeaseOnly(\Closure $make, bool $isKnown): void
    {
        $this->inTask(function () use ($make, $isKnown): void {
            $pdo = $this->pdo(size: 2, attributes: [\PDO::ATTR_EMULATE_PREPARES => true]);
            $kept = async(static function () use ($pdo, $make): \PDOStatement {
                $statement = $make($pdo);
                self::assertTrue($statement->execute());
                self::assertSame(1, (int) $statement->fetchColumn());
                $statement->closeCursor();

                return $statement;
            })->await();
            self::assertSame($isKnown, $kept instanceof Statement);
            async(function () use ($pdo, $kept): void {
                $pdo->beginTransaction();
                if ($this->native() || $kept instanceof Statement) {
                    $this->thrown(\PDOException::class, static fn () => $kept->execute());
                }
                $pdo->rollBack();
                self::assertSame([\PDOStatement::class], \array_slice($pdo->getAttribute(\PDO::ATTR_STATEMENT_CLASS), 0, 1));
            })->await();
        });
    }

    public function testNoPasswordIsShown(): void
    {
        [$dsn] = static::database();
        $secret = 'pa55word';
        $this->inTask(function () use ($dsn, $secret): void {
            $pdo = new \Hearth\Pool\Pdo("$dsn;password=$secret", 'nobody', $secret, size: 1, minimumIdle: 0, borrowTimeout: 0.2, logger: $this->logger);
            foreach ([$pdo, $pdo->pool()] as $object) {
                \ob_start();
                \var_dump($object);
                $shown = \ob_get_clean() . \print_r($object, true) . @\var_export($object, true) . \json_encode($object) . \print_r((array) $object, true);
                self::assertStringNotContainsString($secret, $shown);
                $this->thrown(\Exception::class, static fn () => \serialize($object));
            }
            // A database that is trusted by its socket lets every user in, but not to every database.
            $error = $this->thrown(\PDOException::class, static fn () => (new \Hearth\Pool\Pdo("$dsn;dbname=nowhere;password=$secret", 'nobody', $secret, minimumIdle: 0, borrowTimeout: 0.2))->query('SELECT 1'));
            for (; $error !== null; $error = $error->getPrevious()) {
                self::assertStringNotContainsString($secret, $error . \json_encode($error->getTrace(), \JSON_PARTIAL_OUTPUT_ON_ERROR));
            }
            $pdo->pool()->close();
        });
    }

    /** Doctrine sets the error mode of each connection that it is given. */
    public function testAnAttributeThatIsNotChangedIsNoState(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $this->broken($pdo, static fn () => $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_EXCEPTION), static fn () => $pdo->query('SELECT 1'));
            self::assertSame(1, (int) $pdo->query('SELECT 1')->fetchColumn());
        });
    }

    /** What was set in PDO itself can be set in the next. */
    public function testAnAttributeGoesOnToTheConnectionThatReplacesABrokenOne(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo();
            $this->broken($pdo, static fn () => $pdo->setAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE, \PDO::FETCH_NUM), static fn () => $pdo->query('SELECT 1'));
            self::assertSame([0], \array_keys($pdo->query('SELECT 1 AS one')->fetch()));
            $pdo->release();
            self::assertSame(['one', 0], \array_keys($pdo->query('SELECT 1 AS one')->fetch()));
        });
    }

    public function testRollBackOrReleaseEndsTheLossOfASession(): void
    {
        [$change] = \array_values(static::sessionChanges())[0];
        $this->inTask(function () use ($change): void {
            foreach ([static fn ($pdo) => $pdo->rollBack(), static fn ($pdo) => $pdo->release()] as $end) {
                $pdo = $this->pdo();
                $this->broken($pdo, static fn () => $pdo->exec($change), static fn () => $pdo->query('SELECT 1'));
                $error = $this->thrown(\PDOException::class, static fn () => $pdo->query('SELECT 1'));
                self::assertStringContainsString('rollBack() or release()', $error->getMessage());
                try {
                    $end($pdo);
                } catch (\PDOException) {
                }
                self::assertSame(1, (int) $pdo->query('SELECT 1')->fetchColumn());
            }
        });
    }

    /** A statement in a cycle dies when the collector comes by, long after its lease. */
    public function testAStatementInGarbageCostsNoConnection(): void
    {
        $this->inTask(function (): void {
            $pdo = $this->pdo(size: 1, attributes: [\PDO::ATTR_EMULATE_PREPARES => false]);
            for ($n = 0; $n < 10; ++$n) {
                async(static function () use ($pdo): void {
                    $cycle = new \stdClass();
                    $cycle->self = $cycle;
                    $cycle->statement = $pdo->prepare('SELECT 1');
                    $cycle->statement->execute();
                    $cycle->statement->fetchAll();
                })->await();
            }
            self::assertSame([1, []], [$pdo->pool()->stats()['created'], $pdo->pool()->stats()['destroyed']]);
        });
    }
}
