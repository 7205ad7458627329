--TEST--
MSG_WAITALL, MSG_PEEK, sendmsg() of more than the buffer takes, and time limits of connect(), as the kernel has them
--SKIPIF--
<?php if (!extension_loaded('sockets')) die('skip sockets'); ?>
--FILE--
<?php
/** Runs code with the socket `$s`, the other end. */
$other_end = function (Socket $socket, string $code): mixed {
    $import = '$s = socket_import_stream(fopen("php://fd/3", "r+"));';
    return proc_open(['php', '-r', $import . $code], [3 => socket_export_stream($socket), 1 => ['pipe', 'w']], $pipes);
};
$pair = function (int $type = SOCK_STREAM): array {
    socket_create_pair(AF_UNIX, $type, 0, $both);
    return $both;
};
$tcp_pair = function (): array {
    $listener = socket_create_listen(0);
    socket_getsockname($listener, $address, $port);
    $one = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
    socket_connect($one, '127.0.0.1', $port);
    return [$one, socket_accept($listener)];
};
$limited = function (Socket $socket, int $option, int $milliseconds): Socket {
    socket_set_option($socket, SOL_SOCKET, $option, ['sec' => intdiv($milliseconds, 1000), 'usec' => $milliseconds % 1000 * 1000]);
    return $socket;
};
$late = 'usleep(150000); socket_write($s, "WORLD"); usleep(300000);';
foreach (['unix' => $pair, 'tcp' => $tcp_pair] as $kind => $make) {
    foreach (['all' => MSG_WAITALL, 'peek' => MSG_PEEK | MSG_WAITALL] as $name => $flags) {
        [$a, $b] = $make();
        socket_write($a, 'hello');
        $p = $other_end($a, $late);
        $n = socket_recv($b, $text, 10, $flags);
        echo "$kind $name: $n $text\n";
        if ($flags & MSG_PEEK) {
            socket_recv($b, $text, 10, MSG_WAITALL);
            echo "then $text\n";
        }
        proc_close($p);
    }
    [$a, $b] = $make();
    socket_write($a, 'hello');
    $p = $other_end($a, $late);
    $message = ['name' => [], 'buffer_size' => 10, 'controllen' => 64];
    $n = socket_recvmsg($b, $message, MSG_WAITALL);
    echo "$kind recvmsg: $n ", $message['iov'][0], "\n";
    proc_close($p);

    [$a, $b] = $make();
    $limited($b, SO_RCVTIMEO, 300);
    socket_write($a, 'hello');
    echo "$kind time is over: ", socket_recv($b, $text, 10, MSG_WAITALL), " $text\n";
    echo "$kind time is over: ", var_export(@socket_recv($b, $text, 10, MSG_WAITALL), true), ' ', socket_strerror(socket_last_error($b)), "\n";
    echo "$kind no wait: ", var_export(@socket_recv($b, $text, 10, MSG_WAITALL | MSG_DONTWAIT), true), "\n";
    socket_write($a, 'bye');
    socket_shutdown($a, 1);
    echo "$kind end: ", socket_recv($b, $text, 10, MSG_WAITALL | MSG_PEEK), " $text\n";
    echo "$kind end: ", socket_recv($b, $text, 10, MSG_WAITALL), " $text\n";

    [$a, $b] = $make();
    $p = $other_end($b, 'usleep(100000); $n = 0; while ($n < 2000000 && ($x = socket_read($s, 65536)) !== "") { $n += strlen($x); } exit($n === 2000000 ? 7 : 1);');
    echo "$kind sendmsg: ", socket_sendmsg($a, ['iov' => [str_repeat('x', 1500000), '', str_repeat('y', 500000)]], 0), "\n";
    echo 'received: ', proc_close($p) === 7 ? 'all' : 'a part', "\n";

    [$a, $b] = $make();
    $limited($a, SO_SNDTIMEO, 200);
    socket_set_option($a, SOL_SOCKET, SO_SNDBUF, 65536);
    socket_set_option($b, SOL_SOCKET, SO_RCVBUF, 65536);
    $n = socket_sendmsg($a, ['iov' => [str_repeat('x', 3000000)]], 0);
    echo "$kind sendmsg, time is over: ", $n > 0 && $n < 3000000 ? 'a part' : var_export($n, true), "\n";
}
foreach (['datagrams' => SOCK_DGRAM, 'packets' => SOCK_SEQPACKET] as $name => $type) {
    [$a, $b] = $pair($type);
    $limited($b, SO_RCVTIMEO, 100);
    socket_write($a, 'one');
    socket_write($a, 'two');
    for ($i = 0; $i < 3; $i++) {
        $n = @socket_recv($b, $text, 100, MSG_WAITALL);
        echo "$name: ", var_export($n, true), ' ', var_export($text, true), "\n";
    }
}
[$a, $b] = $pair();
$message = ['iov' => ['two'], 'control' => [['level' => SOL_SOCKET, 'type' => SCM_RIGHTS, 'data' => [$a]]]];
socket_write($a, 'one');
socket_sendmsg($a, $message, 0);
socket_write($a, 'three');
socket_recv($b, $text, 100, MSG_WAITALL);
echo "up to a descriptor: $text\n";

$path = tempnam(sys_get_temp_dir(), 'socket');
unlink($path);
socket_bind($listener = socket_create(AF_UNIX, SOCK_STREAM, 0), $path);
socket_listen($listener, 0);
socket_connect($queued = socket_create(AF_UNIX, SOCK_STREAM, 0), $path);
$one_more = $limited(socket_create(AF_UNIX, SOCK_STREAM, 0), SO_SNDTIMEO, 200);
echo 'queue is full: ', var_export(@socket_connect($one_more, $path), true), ' ', socket_strerror(socket_last_error($one_more)), "\n";
unlink($path);
--EXPECT--
unix all: 10 helloWORLD
unix peek: 5 hello
then helloWORLD
unix recvmsg: 10 helloWORLD
unix time is over: 5 hello
unix time is over: false Resource temporarily unavailable
unix no wait: false
unix end: 3 bye
unix end: 3 bye
unix sendmsg: 2000000
received: all
unix sendmsg, time is over: a part
tcp all: 10 helloWORLD
tcp peek: 10 helloWORLD
then helloWORLD
tcp recvmsg: 10 helloWORLD
tcp time is over: 5 hello
tcp time is over: false Resource temporarily unavailable
tcp no wait: false
tcp end: 3 bye
tcp end: 3 bye
tcp sendmsg: 2000000
received: all
tcp sendmsg, time is over: a part
datagrams: 3 'one'
datagrams: 3 'two'
datagrams: false NULL
packets: 3 'one'
packets: 3 'two'
packets: false NULL
up to a descriptor: onetwo
queue is full: false Resource temporarily unavailable
