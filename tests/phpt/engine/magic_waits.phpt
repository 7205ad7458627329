--TEST--
Waits inside magic methods, destructors, __toString, JsonSerializable, serialization and comparison
--FILE--
<?php
$object = new class implements JsonSerializable, Countable, IteratorAggregate, ArrayAccess {
    public function __get($name) { usleep(200); return "get $name"; }
    public function __call($name, $arguments) { usleep(200); return "call $name"; }
    public function __toString(): string { usleep(200); return 'string'; }
    public function jsonSerialize(): mixed { usleep(200); return ['json' => 1]; }
    public function count(): int { usleep(200); return 7; }
    public function getIterator(): Iterator { usleep(200); yield 'k' => 'v'; }
    public function offsetExists($k): bool { usleep(200); return true; }
    public function offsetGet($k): mixed { usleep(200); return "at $k"; }
    public function offsetSet($k, $v): void { usleep(200); }
    public function offsetUnset($k): void { usleep(200); }
    public function __invoke() { usleep(200); return 'invoked'; }
    public function __destruct() { usleep(200); echo "destroyed\n"; }
};
echo $object->a, ' ', $object->b(), ' ', $object, ' ', json_encode($object), ' ', count($object), ' ', $object['x'], ' ', $object(), "\n";
foreach ($object as $key => $value) {
    echo "$key=$value\n";
}
echo in_array('string', [$object]) ? "equal\n" : "different\n";
$object = null;
echo "end\n";
--EXPECT--
get a call b string {"json":1} 7 at x invoked
k=v
equal
destroyed
end
