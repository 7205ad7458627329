--TEST--
More than a socket's buffer, both ways, in two fibers of one script
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0');
$client = stream_socket_client('tcp://' . stream_socket_get_name($server, false));
$peer = stream_socket_accept($server);
foreach ([$client, $peer] as $stream) {
    stream_set_blocking($stream, false);
}
$data = str_repeat('0123456789abcdef', 1 << 17);
$sent = 0;
$got = '';
while (strlen($got) < strlen($data)) {
    $read = [$peer];
    $write = $sent < strlen($data) ? [$client] : [];
    $none = null;
    stream_select($read, $write, $none, 5) ?: exit('nothing moves');
    if ($write) {
        $sent += fwrite($client, substr($data, $sent, 65536));
    }
    if ($read) {
        $got .= fread($peer, 65536);
    }
}
var_dump($sent === strlen($data), $got === $data);
--EXPECT--
bool(true)
bool(true)
