<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * The task that a piece of code belongs to in its author's view.
 *
 * `timeout()` runs its function in a task of its own, but for its author that function is part of the calling task: it must
 * see the same connection, with the same open transaction. The caller does nothing meanwhile, so sharing is safe.
 *
 * @internal
 */
final class EffectiveTask
{
    public static function id(): int
    {
        return effectiveTask(taskId());
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
        setEffectiveTask($caller);
        onTaskEnd($task, static function (int $task, bool $interrupted = false) use ($caller): void {
            if ($interrupted && \class_exists(\Hearth\Pool\Pools::class, false)) {
                \Hearth\Pool\Pools::taskInterrupted($caller);
            }
        });

        return $fn();
    }
}
