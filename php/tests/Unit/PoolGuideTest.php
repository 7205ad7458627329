<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Pool\Pool;
use Hearth\Tests\TestCase;

/** The page about pools says of each option what goes wrong without it, and from which pools it comes. */
final class PoolGuideTest extends TestCase
{
    private static function guide(): string
    {
        return (string) \file_get_contents(__DIR__ . '/../../../docs/guide/pool.md');
    }

    /** @return list<string> the names of the first column of the table below this heading */
    private static function named(string $heading): array
    {
        $section = \explode("\n## ", \explode("\n## $heading", self::guide(), 2)[1] ?? '', 2)[0];
        \preg_match_all('/^\| (`[^|]*) \|/m', $section, $rows);
        \preg_match_all('/`([A-Za-z]+)(?:\(.*?\))?`/', \implode(' ', $rows[1]), $names);

        return $names[1];
    }

    public function testEveryOptionIsExplained(): void
    {
        $named = self::named('Options');
        foreach ((new \ReflectionMethod(Pool::class, '__construct'))->getParameters() as $option) {
            if ($option->getName() !== 'factory') {
                self::assertContains($option->getName(), $named);
            }
        }
        self::assertCount(\count($named), \array_unique($named));
    }

    public function testEveryOptionOfTheOtherPoolsHasItsPlace(): void
    {
        $table = \explode("\n## Coming from another pool", self::guide(), 2)[1] ?? '';
        $seed = ['size', 'minimumIdle', 'idleTimeoutSec', 'maxLifetimeSec', 'borrowingTimeoutSec', 'returningTimeoutSec', 'autoReturn',
            'bindToCoroutine', 'leakDetectionThresholdSec', 'maxItemReservingForUpdateWaitingTimeSec', 'pool.size', 'pool.minimum_idle',
            'pool.idle_timeout_sec', 'pool.max_lifetime_sec', 'pool.borrowing_timeout_sec', 'pool.returning_timeout_sec',
            'pool.max_item_reserving_for_update_waiting_time_sec', 'KeepaliveChecker', 'ConnectionChecker', 'ConnectionResetHook'];
        $hikari = ['maximumPoolSize', 'minimumIdle', 'idleTimeout', 'maxLifetime', 'connectionTimeout', 'validationTimeout',
            'leakDetectionThreshold', 'keepaliveTime', 'connectionTestQuery', 'connectionInitSql'];
        foreach ([...$seed, ...$hikari] as $name) {
            self::assertStringContainsString("`$name`", $table);
        }
    }

    public function testEveryBugHasItsTest(): void
    {
        $root = __DIR__ . '/../../..';
        \preg_match_all('/`(test[A-Z]\w+|[a-z]+(?:_[a-z]+){3,})`/', (string) \file_get_contents("$root/docs/internals/pool-bugs.md"), $names);
        $tests = \implode('', \array_map('file_get_contents', [...\glob("$root/php/tests/*/*.php"), ...\glob("$root/tests/it/*.rs")]));
        self::assertGreaterThan(30, \count($names[1]));
        foreach ($names[1] as $name) {
            self::assertMatchesRegularExpression("/\\b(function|fn) $name\\(/", $tests);
        }
    }
}
