<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The driver for connections that the pool knows nothing about: `check`, `reset` and `keepalive` are
 * up to the pool's options.
 *
 * @internal
 */
final class AnyDriver implements Driver
{
    public function adopt(Entry $entry): void
    {
    }

    public function remember(Entry $entry): void
    {
    }

    public function isClosed(Entry $entry): bool
    {
        return false;
    }

    public function check(Entry $entry): bool
    {
        return true;
    }

    public function holdsState(Entry $entry): bool
    {
        return true;
    }

    public function needsReset(Entry $entry): bool
    {
        return false;
    }

    public function reset(Entry $entry): bool
    {
        return false;
    }

    public function disconnect(object $connection): bool
    {
        return false;
    }

    public function hasLeft(object $connection): bool
    {
        return true;
    }

    public function cancel(object $connection, int $session): void
    {
    }

    public function isBroken(\Throwable $error): bool
    {
        return false;
    }
}
