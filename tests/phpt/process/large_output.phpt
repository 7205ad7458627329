--TEST--
A program that fills both pipes at once
--FILE--
<?php
$process = proc_open('head -c 300000 /dev/zero | tr "\0" o; head -c 300000 /dev/zero | tr "\0" e >&2', [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes);
$text = [1 => '', 2 => ''];
$open = $pipes;
while ($open) {
    $read = $open;
    $none = null;
    stream_select($read, $none, $none, 5) ?: exit('nothing comes');
    foreach ($read as $stream) {
        $number = array_search($stream, $pipes, true);
        $piece = fread($stream, 8192);
        $text[$number] .= $piece;
        if ($piece === '' && feof($stream)) {
            unset($open[$number]);
        }
    }
}
var_dump(strlen($text[1]), strlen($text[2]), proc_close($process));
--EXPECT--
int(300000)
int(300000)
int(0)
