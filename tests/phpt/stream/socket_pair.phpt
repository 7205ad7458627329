--TEST--
A socket pair: partial reads, select, timeouts, end of file
--FILE--
<?php
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
fwrite($a, "one\ntwo");
var_dump(fgets($b), fread($b, 3));
$read = [$b];
$none = null;
var_dump(stream_select($read, $none, $none, 0, 2000), $read);
fwrite($a, 'x');
$read = [$b];
var_dump(stream_select($read, $none, $none, 1), count($read), fread($b, 1));
stream_set_timeout($b, 0, 2000);
var_dump(fread($b, 1), stream_get_meta_data($b)['timed_out']);
stream_set_blocking($b, false);
var_dump(fread($b, 1));
stream_set_blocking($b, true);
fclose($a);
var_dump(fread($b, 1), feof($b));
--EXPECTF--
string(4) "one
"
string(3) "two"
int(0)
array(0) {
}
int(1)
int(1)
string(1) "x"
%r(string\(0\) ""|bool\(false\))%r
bool(true)
%r(string\(0\) ""|bool\(false\))%r
string(0) ""
bool(true)
