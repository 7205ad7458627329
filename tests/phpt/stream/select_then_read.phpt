--TEST--
What stream_select() found is read after it, also when something was sent and an answer read before
--FILE--
<?php
[$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
stream_set_timeout($near, 5);
$process = proc_open(['sh', '-c', 'while read -r line; do sleep 0.05; echo "$line"; done'], [$far, $far], $none);
fclose($far);
for ($round = 0; $round < 3; $round++) {
    // A read that got all there was, after a wait.
    fwrite($near, "first\n");
    echo fread($near, 1000);
    fwrite($near, "second\n");
    [$read, $write, $except] = [[$near], null, null];
    var_dump(stream_select($read, $write, $except, 5));
    echo fread($near, 1000);
}
stream_socket_shutdown($near, STREAM_SHUT_WR);
var_dump(fread($near, 1000), proc_close($process));
--EXPECT--
first
int(1)
second
first
int(1)
second
first
int(1)
second
string(0) ""
int(0)
