--TEST--
rrd_error() has the text of the own request, also after a wait
--SKIPIF--
<?php if (!extension_loaded('rrd')) die('skip rrd'); ?>
--FILE--
<?php
$name = '/nowhere-' . bin2hex(random_bytes(8));
rrd_update($name, ['N:1']);
usleep(50000);
var_dump(str_contains((string) rrd_error(), $name), rrd_error());
?>
--EXPECT--
bool(true)
bool(false)
