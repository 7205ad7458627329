<?php

declare(strict_types=1);

namespace Hearth\Tests\Services;

use Hearth\Pool\Pool;
use Hearth\Tests\Fixtures\ListLogger;
use Hearth\Tests\Services;
use Hearth\Tests\TestCase;

use function Hearth\async;
use function Hearth\parallel;

/**
 * What becomes of each kind of state that a lease leaves: restored, or the connection closed. The table of docs/guide/pool.md is made
 * here: `HEARTH_WRITE_DOCS=1 hearth run phpunit --filter StatesTest`.
 */
final class StatesTest extends TestCase
{
    private const GUIDE = __DIR__ . '/../../../docs/guide/pool.md';
    private const BEGIN = "<!-- states: made by StatesTest -->\n";
    private const END = '<!-- end of states -->';

    public function testNothingThatALeaseLeavesReachesTheNext(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the server: COM_RESET_CONNECTION');
        }
        $databases = [new States\Mariadb(), new States\Postgresql(), new States\Sqlite(), new States\Redis()];
        // Each database beside the others: a lease mostly waits.
        $outcomes = $this->inTask(static fn () => parallel(\array_map(static fn (States\Database $database) => static fn () => self::outcomes($database), $databases)));
        $table = [];
        $leaks = [];
        foreach ($databases as $index => $database) {
            $table[$database->name()] = $outcomes[$index];
            foreach ($outcomes[$index] as $what => $row) {
                foreach (\array_diff($row, ['restored', 'closed', '–']) as $driver => $outcome) {
                    $leaks[] = "{$database->name()}, $what, $driver: $outcome";
                }
            }
        }
        self::assertSame([], $leaks);
        $this->assertDocumented(self::markdown($table));
    }

    /** @return array<string, array<string, string>> by the kind of state and the driver */
    private static function outcomes(States\Database $database): array
    {
        $database->prepare();
        $outcomes = [];
        foreach ($database->states() as $what => [$change, $show]) {
            foreach ($database->drivers() as $driver => $factory) {
                $outcomes[$what][$driver] = self::outcome($database, $factory, $change, $show);
            }
        }

        return $outcomes;
    }

    /** @param \Closure(mixed...): object $factory a `Pool\Pdo`, a `Pool\Redis` or a `Pool` */
    private static function outcome(States\Database $database, \Closure $factory, string $change, string $show): string
    {
        $pool = $factory(size: 1, minimumIdle: 0, borrowTimeout: 10.0, returnTimeout: 10.0, logger: new ListLogger());
        $in = static fn (\Closure $do) => async(static fn () => $pool instanceof Pool ? $pool->with($do) : $do($pool))->await();
        $inner = $pool instanceof Pool ? $pool : $pool->pool();
        try {
            $look = static fn (object $connection) => [$database->number($connection), $database->look($connection, $show)];
            [$number, $before] = $in($look);
            $changed = $in(static function (object $connection) use ($database, $change, $show): mixed {
                $database->change($connection, $change);

                return $database->look($connection, $show);
            });
            if ($changed === $before) {
                return 'not changed';
            }
            [$next, $after] = $in($look);

            return $after === $before ? ($next === $number ? 'restored' : 'closed') : 'kept: ' . \json_encode([$before, $changed, $after]);
        } catch (States\NotSupported) {
            return '–';
        } finally {
            $inner->close();
        }
    }

    /** @param array<string, array<string, array<string, string>>> $table */
    private static function markdown(array $table): string
    {
        $text = '';
        foreach ($table as $database => $rows) {
            $drivers = \array_keys(\reset($rows));
            $text .= "\n| $database | " . \implode(' | ', $drivers) . " |\n|---" . \str_repeat('|---', \count($drivers)) . "|\n";
            foreach ($rows as $what => $outcomes) {
                $text .= "| $what | " . \implode(' | ', $outcomes) . " |\n";
            }
        }

        return $text . "\n";
    }

    private function assertDocumented(string $table): void
    {
        $guide = (string) \file_get_contents(self::GUIDE);
        $from = \strpos($guide, self::BEGIN);
        $to = \strpos($guide, self::END);
        self::assertNotFalse($from);
        self::assertNotFalse($to);
        $from += \strlen(self::BEGIN);
        if (\getenv('HEARTH_WRITE_DOCS') !== false) {
            \file_put_contents(self::GUIDE, $guide = \substr($guide, 0, $from) . $table . \substr($guide, $to));
            $to = $from + \strlen($table);
        }
        self::assertSame($table, \substr($guide, $from, $to - $from), 'the table in docs/guide/pool.md is stale');
    }
}
