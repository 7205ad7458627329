--TEST--
A user stream that is closed is not asked for its descriptor
--FILE--
<?php
$plain = new class {
    public $context;
    public function stream_open() { return true; }
    public function stream_close() { echo "closed\n"; }
};
$asked = new class {
    public $context;
    public function stream_open() { return true; }
    public function stream_cast(int $as) { echo "asked\n"; return false; }
    public function stream_close() { echo "closed\n"; }
};
foreach (['plain' => $plain, 'asked' => $asked] as $name => $object) {
    stream_wrapper_register($name, $object::class);
    fclose(fopen("$name://x", 'r'));
    stream_wrapper_unregister($name);
}
--EXPECT--
closed
closed
