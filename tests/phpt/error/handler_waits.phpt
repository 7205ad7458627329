--TEST--
An error handler may wait; the error goes on where it was
--FILE--
<?php
set_error_handler(function (int $number, string $message): bool {
    usleep(1000);
    echo "handled: $message\n";
    return true;
});
$array = [];
$value = $array['missing'] ?? 'default';
echo $array['missing'] . "after\n";
echo 1 <=> $undefined, "\n";
restore_error_handler();
echo @$array['silent'], "silent\n";
--EXPECT--
handled: Undefined array key "missing"
after
handled: Undefined variable $undefined
1
silent
