<?php

declare(strict_types=1);

namespace Hearth\Tests\Shim;

/** Named counters; in the server they are in memory that all workers share. */
final class Budgets
{
    /** @var list<array{name: string, total: int, used: int}> */
    private static array $budgets = [];

    public static function open(string $name, int $total): int
    {
        foreach (self::$budgets as $handle => $budget) {
            if ($budget['name'] === $name) {
                return $handle;
            }
        }
        self::$budgets[] = ['name' => $name, 'total' => $total, 'used' => 0];

        return \count(self::$budgets) - 1;
    }

    public static function acquire(int $handle, int $n): bool
    {
        if (self::$budgets[$handle]['used'] + $n > self::$budgets[$handle]['total']) {
            return false;
        }
        self::$budgets[$handle]['used'] += $n;

        return true;
    }

    public static function release(int $handle, int $n): void
    {
        if ($n > self::$budgets[$handle]['used']) {
            throw new \LogicException('more was given back than was taken');
        }
        self::$budgets[$handle]['used'] -= $n;
    }

    public static function used(int $handle): int
    {
        return self::$budgets[$handle]['used'];
    }
}
