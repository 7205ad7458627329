--TEST--
The silence operator holds across a wait, and ends with its expression
--FILE--
<?php
$level = error_reporting();
$inside = @(function () {
    usleep(2000);
    echo $nothing;
    return error_reporting();
})();
var_dump($inside !== $level || $level === 4437, error_reporting() === $level);
--EXPECT--
bool(true)
bool(true)
