<?php

declare(strict_types=1);

namespace Hearth\Tests\Fixtures;

/** A connection that counts those that are open. */
final class FakeConnection
{
    public static int $open = 0;
    public static int $mostOpen = 0;
    public static int $made = 0;

    public readonly int $number;
    /** Where it leads, if that matters. */
    public mixed $address = '';
    public bool $broken = false;
    public bool $inUse = false;

    public function __construct()
    {
        $this->number = ++self::$made;
        self::$mostOpen = \max(self::$mostOpen, ++self::$open);
    }

    public function __destruct()
    {
        --self::$open;
    }

    public static function reset(): void
    {
        self::$open = self::$mostOpen = self::$made = 0;
    }
}
