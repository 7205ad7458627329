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
// One write of more than PIPE_BUF reaches the reader in one piece.
$code = 'while (strlen($piece = fread(STDIN, 8192))) fwrite(STDOUT, strlen($piece) . "\n");';
$process = proc_open(['php', '-n', '-r', $code], [['pipe', 'r'], ['pipe', 'w']], $pipes);
$lengths = [];
for ($round = 0; $round < 200; $round++) {
    fwrite($pipes[0], str_repeat('x', 5000));
    $lengths[(int) fgets($pipes[1])] = true;
}
fclose($pipes[0]);
var_dump(array_keys($lengths));
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
array(1) {
  [0]=>
  int(5000)
}
