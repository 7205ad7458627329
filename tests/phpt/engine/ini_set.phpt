--TEST--
ini_set holds across waits and is restored by ini_restore
--FILE--
<?php
var_dump(ini_set('precision', '5') !== false);
usleep(1000);
echo 1 / 3, "\n";
ini_restore('precision');
usleep(1000);
echo 1 / 3, "\n";
--INI--
precision=14
--EXPECT--
bool(true)
0.33333
0.33333333333333
