--TEST--
Output buffers nest across waits, callbacks see their own text
--FILE--
<?php
ob_start(fn (string $text): string => "[$text]");
echo 'a';
usleep(1000);
ob_start(fn (string $text): string => "($text)");
echo 'b';
usleep(1000);
var_dump(ob_get_level() >= 2, ob_get_length());
ob_end_flush();
usleep(1000);
echo 'c';
ob_end_flush();
echo "\n";
ob_start();
echo 'x';
usleep(500);
print_r(ob_get_clean());
echo "\n", json_encode(ob_get_status()['name'] ?? null) !== '', "\n";
--EXPECT--
[a(bbool(true)
int(1)
)c]
x
1
