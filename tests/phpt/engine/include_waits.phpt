--TEST--
Included files may wait while they run
--FILE--
<?php
$file = tempnam(sys_get_temp_dir(), 'include');
file_put_contents($file, '<?php usleep(1000); echo "included\n"; usleep(1000); return 5;');
var_dump(include $file);
var_dump(eval('usleep(500); return 6;'));
unlink($file);
--EXPECT--
included
int(5)
int(6)
