--TEST--
An exception leaves a generator that another one yields from, and what it has yielded is destroyed
--SKIPIF--
<?php
// PHP 8.2 loses the place of the exception: it is not caught, or what the caller holds is freed.
if (getenv('PHPT_WAY') === 'php') { echo 'skip a defect of the engine'; }
?>
--FILE--
<?php
$make = fn (int &$count) => new class ($count) {
    public function __construct(private int &$count) {}
    public function __destruct() { usleep(3); $this->count++; }
};
$count = 0;
$fails = function () use ($make, &$count) { yield $make($count); throw new Exception('passes'); };
$both = function () use ($fails) { foreach ([1, 2] as $n) { yield from $fails(); } };
$get = fn (...$values) => $values;
$caught = [];
for ($n = 0; $n < 20; $n++) {
    $kept = array_fill(0, 4, new ArrayObject(['whole']));
    try { $made = [strrev("$n"), $get($kept, ...$both())]; } catch (Exception $e) { $caught['call ' . $e->getMessage()] = true; }
    try { $made = [strrev("$n"), $kept, ...$both()]; } catch (Exception $e) { $caught['array ' . $e->getMessage()] = true; }
    try {
        foreach ([strrev("$n")] as $x) { foreach ($both() as $y) { unset($y); } }
    } catch (Exception $e) { $caught['loop ' . $e->getMessage()] = true; }
}
echo implode("\n", array_keys($caught)), "\n", $kept[3][0], ' ', $count, "\n";
?>
--EXPECT--
call passes
array passes
loop passes
whole 60
