--TEST--
What ini_set() says about a setting is said once, also when the task waits and ends
--FILE--
<?php
$said = 0;
set_error_handler(function () use (&$said): bool { return (bool) ++$said; });
ini_set('auto_detect_line_endings', '1');
usleep(1000);
usleep(1000);
var_dump($said, ini_get('auto_detect_line_endings'), error_get_last());
restore_error_handler();
--EXPECT--
int(1)
string(1) "1"
NULL
