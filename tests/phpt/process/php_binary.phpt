--TEST--
PHP_BINARY is a php command: options, code, standard input, bytes that are no text
--SKIPIF--
<?php if (getenv('PHPT_WAY') === 'requests') die('skip the server program is asked for by the first two ways'); ?>
--FILE--
<?php
$php = escapeshellarg(PHP_BINARY);
echo shell_exec("$php -n -d precision=3 -r 'echo 1 / 3, PHP_EOL, \$argv[1], PHP_EOL;' -- -x");
echo shell_exec("echo '<?php echo \"standard input\\n\";' | $php -n");
var_dump(trim(shell_exec("$php -n -d user_agent=\"\xe9\" -r 'echo bin2hex(ini_get(\"user_agent\"));'")));
var_dump(shell_exec("$php -n -r 'var_dump(php_ini_loaded_file());'"));
exec("$php -n -r 'exit(7);'", $lines, $code);
var_dump($code);
exec("$php -n /nowhere/script.php", $lines, $code);
var_dump($code); // what it says goes to standard output in 8.2, to standard error in 8.4
--EXPECT--
0.333
-x
standard input
string(2) "e9"
string(12) "bool(false)
"
int(7)
int(1)
