<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * One task in a queue.
 *
 * Whoever gives it what it waits for takes it out of the queue, sets `done` (and `value`), and unparks the task.
 *
 * @internal
 */
final class Waiter
{
    public ?Waiter $previous = null;
    public ?Waiter $next = null;

    /** Whether it is in the queue. */
    public bool $queued = false;

    /** When it began to wait; its time runs from then. */
    public float $since = 0.0;

    /** True once it was given what it waits for. */
    public bool $done = false;

    /** What it was given; before, what it has to give. */
    public mixed $value = null;

    /** Who waits. */
    public int $task = 0;
}
