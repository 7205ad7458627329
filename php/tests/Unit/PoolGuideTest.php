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

    /** @return list<list<string>> the cells of the table below this heading */
    private static function rows(string $heading): array
    {
        $section = \explode("\n## ", \explode("\n## $heading", self::guide(), 2)[1] ?? '', 2)[0];
        \preg_match_all('/^\| (.*) \|$/m', $section, $lines);

        return \array_map(fn (string $line) => \explode(' | ', $line), $lines[1]);
    }

    /** What the page says of a default, where the constructor has one that can be written. */
    private static function written(\ReflectionParameter $option): ?string
    {
        $default = $option->isOptional() ? $option->getDefaultValue() : null;

        return match (true) {
            $default === null => null,
            $option->getName() === 'leakThreshold' => '0 = off',
            \is_string($default) => "`'$default'`",
            default => \is_bool($default) ? \var_export($default, true) : (string) $default,
        };
    }

    public function testDefaultsAreTheConstructors(): void
    {
        $options = $others = [];
        foreach (self::rows('Options') as [$names, $defaults]) {
            $options += self::defaults($names, $defaults);
        }
        foreach (self::rows('Coming from another pool') as [$here]) {
            $others += self::defaults(...\explode(' (', \rtrim($here, ')') . ' ('));
        }
        foreach ((new \ReflectionMethod(Pool::class, '__construct'))->getParameters() as $option) {
            $name = $option->getName();
            self::assertArrayHasKey($name, $others);
            $written = self::written($option);
            if ($written !== null) {
                self::assertSame([$written, $written], [$options[$name], $others[$name]], $name);
            } elseif ($name !== 'factory' && $name !== 'init') {
                self::assertSame($options[$name], $others[$name], $name);
            }
        }
    }

    /** @return array<string, string> of several options in one cell, each with its default */
    private static function defaults(string $names, string $defaults): array
    {
        \preg_match_all('/`([A-Za-z]+)`/', $names, $found);
        $defaults = \count($found[1]) === 1 ? [$defaults] : \explode(', ', $defaults);

        return \count($found[1]) === \count($defaults) ? \array_combine($found[1], $defaults) : [];
    }

    public function testEveryOptionOfTheOtherPoolsHasItsPlace(): void
    {
        $places = [
            'factory' => ['create(factory:)', 'PDOConfig', 'jdbcUrl', 'dataSource'],
            'size' => ['size', 'pool.size', 'maximumPoolSize'],
            'minimumIdle' => ['minimumIdle', 'pool.minimum_idle', 'fill()'],
            'idleTimeout' => ['idleTimeoutSec', 'pool.idle_timeout_sec', 'idleTimeout'],
            'maxLifetime' => ['maxLifetimeSec', 'pool.max_lifetime_sec', 'maxLifetime'],
            'borrowTimeout' => ['borrowingTimeoutSec', 'pool.borrowing_timeout_sec', 'get($timeout)', 'connectionTimeout'],
            'returnTimeout' => ['returningTimeoutSec', 'pool.returning_timeout_sec'],
            'reserveTimeout' => ['maxItemReservingForUpdateWaitingTimeSec', 'pool.max_item_reserving_for_update_waiting_time_sec'],
            'autoReturn' => ['autoReturn'],
            'bindToTask' => ['bindToCoroutine'],
            'leakThreshold' => ['leakDetectionThresholdSec', 'leakDetectionThreshold'],
            'keepalive' => ['KeepaliveChecker', 'keepaliveTime'],
            'check' => ['ConnectionChecker', 'connectionTestQuery'],
            'validationTimeout' => ['validationTimeout'],
            'reset' => ['ConnectionResetHook'],
            'init' => ['connectionInitSql'],
            'logger' => ['setLogger()'],
            'name' => ['instantiate($name)', 'poolName'],
        ];
        $found = [];
        foreach (self::rows('Coming from another pool') as $cells) {
            $here = \strtok($cells[0], '` ');
            $found[$here] = \implode(' ', \array_slice($cells, 1));
        }
        foreach ($places as $here => $names) {
            foreach ($names as $name) {
                self::assertStringContainsString("`$name`", $found[$here] ?? '', $here);
            }
        }
    }

    public function testEveryBugHasItsTest(): void
    {
        $root = __DIR__ . '/../../..';
        \preg_match_all('/`(test[A-Z]\w+|[a-z]+(?:_[a-z]+){3,})`/', (string) \file_get_contents("$root/docs/internals/pool-bugs.md"), $names);
        $tests = \implode('', \array_map('file_get_contents', [...\glob("$root/php/tests/*/*.php"), ...\glob("$root/tests/it/*.rs"), ...\glob("$root/tests/it/*/*.rs")]));
        self::assertGreaterThan(30, \count($names[1]));
        foreach ($names[1] as $name) {
            self::assertMatchesRegularExpression("/\\b(function|fn) $name\\(/", $tests);
        }
    }
}
