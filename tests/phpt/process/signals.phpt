--TEST--
A signal ends sleep() and stream_select(), and its handler runs at once
--SKIPIF--
<?php if (getenv('PHPT_WAY') === 'requests') die('skip a server keeps its signals for itself'); ?>
--FILE--
<?php
pcntl_async_signals(true);
pcntl_signal(SIGALRM, function (): void { echo "alarm\n"; });
$start = microtime(true);
pcntl_alarm(1);
var_dump(in_array(sleep(10), [8, 9], true));
pcntl_alarm(1);
[$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
[$read, $write, $except] = [[$near], null, null];
var_dump(@stream_select($read, $write, $except, 10));
var_dump(microtime(true) - $start < 5);
$child = pcntl_fork();
if ($child === 0) {
    posix_kill(getmypid(), SIGSTOP);
    exit(0);
}
pcntl_waitpid($child, $status, WUNTRACED);
var_dump(pcntl_wifstopped($status), pcntl_wstopsig($status) === SIGSTOP);
posix_kill($child, SIGCONT);
pcntl_waitpid(0, $status);
var_dump(pcntl_wifexited($status));
--EXPECT--
alarm
bool(true)
alarm
bool(false)
bool(true)
bool(true)
bool(true)
bool(true)
