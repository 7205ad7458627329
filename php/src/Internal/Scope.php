<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Which task a piece of code belongs to, as its author sees it.
 *
 * `timeout()` runs its function in a task of its own, but to whoever wrote it that function is part of the calling task: it must
 * see the same connection, with the same open transaction. The caller does nothing meanwhile, so sharing is safe.
 *
 * @internal
 */
final class Scope
{
    /** @var array<int, int> the calling task, by the task that runs for it; to be read only, where a call would cost too much */
    public static array $callers = [];

    public static function id(): int
    {
        $task = taskId();

        return self::$callers[$task] ?? $task;
    }

    /**
     * Makes the current task part of $caller until $fn ends.
     *
     * @template T
     * @param callable(): T $fn
     * @return T
     */
    public static function inside(int $caller, callable $fn): mixed
    {
        $task = taskId();
        self::$callers[$task] = $caller;
        onTaskEnd($task, static function (int $task, bool $interrupted = false) use ($caller): void {
            unset(self::$callers[$task]);
            if ($interrupted) {
                \Hearth\Pool\Pools::taskInterrupted($caller);
            }
        });

        return $fn();
    }
}
