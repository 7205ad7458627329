--TEST--
Deep recursion in PHP code, with waits at the bottom
--FILE--
<?php
$down = function (int $n) use (&$down): int {
    if ($n === 0) {
        usleep(1000);
        return 0;
    }
    return 1 + $down($n - 1);
};
var_dump($down(20000));
--EXPECT--
int(20000)
