--TEST--
stream_select() for exceptional states waits out its time on a stream that is hung up, without spinning
--FILE--
<?php
[$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
fclose($far);
[$read, $write, $except] = [null, null, [$near]];
$start = microtime(true);
var_dump(stream_select($read, $write, $except, 0, 300_000), microtime(true) - $start >= 0.29);
[$read, $write, $except] = [[$near], null, [$near]];
var_dump(stream_select($read, $write, $except, 5), count($read), count($except));
--EXPECT--
int(0)
bool(true)
int(1)
int(1)
int(0)
