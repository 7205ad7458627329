--TEST--
Fibers in fibers, each waiting, each with its own exceptions and generators
--FILE--
<?php
$make = function (int $depth) use (&$make): Fiber {
    return new Fiber(function () use ($depth, $make) {
        $generator = (function () use ($depth) {
            for ($i = 0; $i < 3; $i++) {
                usleep(500);
                yield "$depth.$i";
            }
        })();
        foreach ($generator as $value) {
            echo $value, ' ';
            if ($depth < 3) {
                $inner = $make($depth + 1);
                $inner->start();
                while (!$inner->isTerminated()) {
                    usleep(100);
                    $inner->resume();
                }
            }
            Fiber::suspend();
        }
    });
};
$fiber = $make(2);
for ($fiber->start(); !$fiber->isTerminated(); $fiber->resume());
--EXPECT--
2.0 3.0 3.1 3.2 2.1 3.0 3.1 3.2 2.2 3.0 3.1 3.2
