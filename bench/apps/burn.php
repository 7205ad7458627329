<?php

declare(strict_types=1);

/** Uses a number of microseconds of this process's CPU. */
function burn(int $microseconds): void
{
    $used = static function (): int {
        $usage = getrusage();

        return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1_000_000 + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
    };
    $until = $used() + $microseconds;
    for ($number = 0; $used() < $until;) {
        for ($step = 0; $step < 10_000; $step++) {
            $number = ($number * 31 + $step) % 1_000_003;
        }
    }
}
