--TEST--
A user stream that is closed is not asked for its descriptor
--FILE--
<?php
class Asked
{
    public $context;
    public function stream_open() { return true; }
    public function stream_cast(int $as) { echo "asked\n"; return false; }
    public function stream_close() { echo "closed\n"; }
}
class Plain
{
    public $context;
    public function stream_open() { return true; }
    public function stream_close() { echo "closed\n"; }
}
foreach ([Asked::class, Plain::class] as $class) {
    stream_wrapper_register(strtolower($class), $class);
    fclose(fopen(strtolower($class) . '://x', 'r'));
}
--EXPECT--
closed
closed
