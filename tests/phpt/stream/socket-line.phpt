--TEST--
A line is read from a socket although another task has met an error meanwhile, whose number stays in errno
--SKIPIF--
<?php if (!extension_loaded('sockets')) die('skip sockets'); ?>
--FILE--
<?php
$read = function (Socket $socket): string {
    $line = socket_read($socket, 99, PHP_NORMAL_READ);
    return var_export($line, true) . ' ' . socket_last_error($socket);
};
$answer = function (Socket $socket): void {
    usleep(10000);
    var_dump(@file_get_contents('/nothing/here'));
    socket_write($socket, "line\n");
};
socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
if (function_exists('Hearth\async')) {
    $task = Hearth\async(fn () => $read($pair[0]));
    $answer($pair[1]);
    echo $task->await(), "\n";
} else {
    $answer($pair[1]);
    echo $read($pair[0]), "\n";
}
?>
--EXPECT--
bool(false)
'line
' 0
