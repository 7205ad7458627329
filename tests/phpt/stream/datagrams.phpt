--TEST--
Datagrams that are there at once are all received, one wait after the other
--FILE--
<?php
$server = stream_socket_server('udp://127.0.0.1:0', $code, $message, STREAM_SERVER_BIND);
stream_set_timeout($server, 5);
$client = stream_socket_client('udp://' . stream_socket_get_name($server, false));
for ($round = 0; $round < 2; $round++) {
    for ($i = 0; $i < 3; $i++) {
        fwrite($client, "$round.$i");
    }
    for ($i = 0; $i < 3; $i++) {
        echo fread($server, 1000), "\n";
    }
    // From now on the descriptor is known to the reactor.
    [$read, $write, $except] = [[$server], null, null];
    var_dump(stream_select($read, $write, $except, 0, 1000));
}
--EXPECT--
0.0
0.1
0.2
int(0)
1.0
1.1
1.2
int(0)
