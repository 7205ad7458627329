<?php

// The wait in the middle of a call, and what another task does meanwhile.

declare(strict_types=1);

use function Hearth\Internal\{park, taskId, unpark};

final class Thrown extends Exception {}

/** PHP code that is called in the middle of a call reports here, and waits once. */
final class Wait
{
    /** Calls of such code, in the task that makes the call. */
    public static int $calls = 0;
    /** Whether the task was left while it waited. */
    public static bool $left = false;
    /** Which of the calls waits; 0: none. */
    private static int $at = 0;
    private static int $caller = 0;
    private static int $other = 0;
    private static bool $throws = false;
    private static bool $open = false;

    /** Runs `$call`, whose wait number `$at` ends in an exception or lets `$action` run beside it. Returns its result. */
    public static function during(Closure $call, int $at, bool $throws, Closure $action): mixed
    {
        [self::$calls, self::$at, self::$throws, self::$left, self::$open, self::$caller] = [0, $at, $throws, false, false, 0];
        $other = Hearth\async(static function () use ($action): void {
            self::$other = taskId();
            park();
            if (self::$open) {
                self::$left = true;
                $action();
            }
        });
        $task = Hearth\async(static function () use ($call): mixed {
            self::$caller = taskId();
            try {
                return $call();
            } finally {
                self::$caller = 0;
            }
        });
        Act::$task = $task;
        try {
            return $task->await(5.0);
        } finally {
            self::$open = false;
            unpark(self::$other);
            $other->await(5.0);
            Act::$task = null;
        }
    }

    public static function here(): void
    {
        if (self::$caller === 0 || taskId() !== self::$caller || ++self::$calls !== self::$at) {
            return;
        }
        if (self::$throws) {
            throw new Thrown('from the middle');
        }
        self::$open = true;
        unpark(self::$other);
        usleep(1);
        self::$open = false;
    }

    /** Calls are counted no more. */
    public static function over(): void
    {
        self::$caller = 0;
    }
}
