--TEST--
A warning is displayed as PHP displays it
--FILE--
<?php
usleep(500);
echo 'before', "\n";
echo [] . '', "\n";
--EXPECTF--
before

Warning: Array to string conversion in %s on line 4
Array
