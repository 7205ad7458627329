--TEST--
proc_open: both directions, exit codes, status, signals
--FILE--
<?php
$process = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], "through\n");
fclose($pipes[0]);
var_dump(stream_get_contents($pipes[1]));
fclose($pipes[1]);
var_dump(proc_close($process));
var_dump(proc_close(proc_open('exit 3', [], $none)));
$process = proc_open(['sleep', '10'], [], $none);
var_dump(proc_get_status($process)['running']);
proc_terminate($process);
usleep(50000);
$status = proc_get_status($process);
var_dump($status['signaled'], $status['termsig']);
exec('echo a; echo b; exit 4', $lines, $code);
var_dump($lines, $code, `printf %s backticks`);
--EXPECT--
string(8) "through
"
int(0)
int(3)
bool(true)
bool(true)
int(15)
array(2) {
  [0]=>
  string(1) "a"
  [1]=>
  string(1) "b"
}
int(4)
string(9) "backticks"
