<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * What the entry script gave to the server: what it returned, or what a runtime that it started was about to run.
 *
 * @internal
 */
final class Entry
{
    private static ?object $given = null;

    /** For a runtime, which ends the script with `exit()` afterwards. */
    public static function give(object $app): void
    {
        self::$given = $app;
    }

    public static function app(mixed $returned): mixed
    {
        return self::$given ?? $returned;
    }
}
