<?php

declare(strict_types=1);

// Fast, unless ?burn: then 30 ms of this process's CPU.

if (isset($_GET['burn'])) {
    $used = static function (): int {
        $usage = getrusage();

        return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1_000_000 + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
    };
    $until = $used() + 30_000;
    for ($number = 0; $used() < $until;) {
        for ($step = 0; $step < 20_000; $step++) {
            $number = ($number * 31 + $step) % 1_000_003;
        }
    }
}

echo 'ok';
