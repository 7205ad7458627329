--TEST--
pcntl_fork: the child goes on for itself, waits and all, and the parent is not disturbed
--SKIPIF--
<?php if (getenv('PHPT_WAY') === 'requests') die('skip a forked server process is no worker'); ?>
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0');
$name = stream_socket_get_name($server, false);
[$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$first = pcntl_fork();
if ($first === 0) {
    $client = stream_socket_accept($server);
    usleep(50_000);
    fwrite($client, fgets($client));
    exit(3);
}
// The parent waits on a descriptor that a second child has too, and closes.
$second = pcntl_fork();
if ($second === 0) {
    fclose($near);
    fwrite($far, "from the second\n");
    exit(4);
}
$client = stream_socket_client("tcp://$name");
fwrite($client, "through\n");
echo fgets($client), fgets($near);
foreach ([$first, $second] as $child) {
    var_dump(pcntl_waitpid($child, $status) === $child, pcntl_wexitstatus($status));
}
var_dump(pcntl_wait($status));
--EXPECT--
through
from the second
bool(true)
int(3)
bool(true)
int(4)
int(-1)
