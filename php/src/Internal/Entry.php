<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * The app of the entry script: the value that it returned, or the app that a runtime was about to run.
 *
 * @internal
 */
final class Entry
{
    private static ?object $given = null;

    /** Called by a runtime, which ends the script with `exit()` afterwards. */
    public static function give(object $app): void
    {
        self::$given = $app;
    }

    public static function app(mixed $returned): mixed
    {
        return self::$given ?? $returned;
    }
}
