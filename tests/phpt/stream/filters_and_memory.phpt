--TEST--
Stream filters, php://memory, php://temp and user wrappers that wait
--FILE--
<?php
$memory = fopen('php://temp/maxmemory:16', 'w+');
fwrite($memory, str_repeat('abc', 20));
usleep(500);
rewind($memory);
stream_filter_append($memory, 'string.toupper', STREAM_FILTER_READ);
echo fread($memory, 6), "\n";
$wrapper = new class {
    public $context;
    private int $left = 3;
    public function stream_open($path, $mode, $options, &$opened) { usleep(500); return true; }
    public function stream_read($count) { usleep(500); return $this->left-- > 0 ? "piece\n" : ''; }
    public function stream_eof() { return $this->left <= 0; }
    public function stream_stat() { return []; }
};
@stream_wrapper_unregister('waiting');
stream_wrapper_register('waiting', get_class($wrapper));
echo file_get_contents('waiting://x');
stream_wrapper_unregister('waiting');
--SKIPIF--
<?php if (getenv('PHPT_WAY') === 'requests') echo 'skip wrappers are of the worker, not of a request'; ?>
--EXPECT--
ABCABC
piece
piece
piece
