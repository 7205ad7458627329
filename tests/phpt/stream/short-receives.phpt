--TEST--
A wait after a receive that ended early although more is there: at an urgent mark, behind a descriptor that was passed
--SKIPIF--
<?php if (!extension_loaded('sockets')) die('skip sockets'); ?>
--FILE--
<?php
$child = fn (string $code, array $descriptors): mixed => proc_open(['php', '-r', $code], $descriptors, $pipes);
$listener = stream_socket_server('tcp://127.0.0.1:0');
$code = '$s = socket_create(AF_INET, SOCK_STREAM, SOL_TCP); socket_connect($s, "127.0.0.1", %d);
    usleep(50000); socket_write($s, "abc"); usleep(50000);
    socket_set_option($s, SOL_TCP, 3, 1); // TCP_CORK: one segment
    socket_write($s, "def"); socket_send($s, "!", 1, MSG_OOB); socket_write($s, "ghi");
    socket_set_option($s, SOL_TCP, 3, 0); sleep(60);';
$p = $child(sprintf($code, explode(':', stream_socket_get_name($listener, false))[1]), []);
$stream = stream_socket_accept($listener, 10);
stream_set_timeout($stream, 5);
$got = '';
while (strlen($got) < 9 && ($more = fread($stream, 8192)) !== '' && $more !== false) {
    $got .= $more;
}
echo $got, "\n";
proc_terminate($p);

socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
$code = '$s = socket_import_stream(fopen("php://fd/3", "r+")); usleep(50000); socket_write($s, "one"); usleep(50000);
    socket_sendmsg($s, ["iov" => ["two"], "control" => [["level" => SOL_SOCKET, "type" => SCM_RIGHTS, "data" => [STDIN]]]], 0);
    socket_write($s, "three"); sleep(60);';
$p = $child($code, [3 => socket_export_stream($pair[0])]);
$got = [];
$stream = socket_export_stream($pair[1]);
stream_set_timeout($stream, 5);
while (strlen(implode($got)) < 11 && ($more = fread($stream, 8192)) !== '' && $more !== false) {
    $got[] = $more;
}
echo implode(' ', $got), "\n";
proc_terminate($p);
--EXPECT--
abcdefghi
one two three
