--TEST--
A generator is destroyed while an exception passes to an internal function, whose frame has no opcode
--SKIPIF--
<?php
// From 8.4.13 on PHP reads the opcode all the same: what was on the stack before.
if (getenv('PHPT_WAY') === 'php') { echo 'skip a defect of the engine'; }
?>
--FILE--
<?php
$fails = function () {
    $inner = (function () { try { yield 1; } finally { usleep(100); } })();
    $inner->current();
    throw new RuntimeException('passes');
    yield 1;
};
$catches = function (int $depth) use (&$catches, $fails): string {
    try {
        // The stack below the call is filled with other values each time.
        return $depth ? $catches($depth - 1) . str_repeat('', $depth) : (string) count(iterator_to_array($fails()));
    } catch (RuntimeException $e) {
        return $e->getMessage();
    }
};
$seen = [];
for ($n = 0; $n < 30; $n++) {
    $seen[] = Hearth\async(fn () => $catches($n % 5))->await();
    $seen[] = $catches($n % 7);
}
echo implode(',', array_unique($seen)), "\n";
?>
--EXPECT--
passes
