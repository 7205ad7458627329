--TEST--
An exception leaves a generator that another one yields from, in the middle of a call, an array and a loop
--FILE--
<?php
$ends = [
    'plain' => function () { yield 1; throw new Exception('plain'); },
    'calls' => function () { yield 1; yield from (fn () => throw new Exception('calls'))(); },
    'finally' => function () { try { yield 1; throw new Exception('finally'); } finally { usleep(3); } },
];
$both = function (Closure $end) { foreach ([1, 2] as $n) { yield from $end(); } };
$get = fn (...$values) => $values;
$caught = [];
foreach ($ends as $name => $end) {
    for ($n = 0; $n < 20; $n++) {
        $kept = array_fill(0, 4, new ArrayObject([$name]));
        try { $made = [strrev($name), $get($kept, strrev("$n"), ...$both($end))]; } catch (Exception $e) { $caught['call ' . $e->getMessage()] = true; }
        try { $made = [strrev($name), $kept, ...$both($end)]; } catch (Exception $e) { $caught['array ' . $e->getMessage()] = true; }
        try {
            foreach ([strrev($name)] as $x) { foreach ($both($end) as $y) { $made = $x . $y; } }
        } catch (Exception $e) { $caught['loop ' . $e->getMessage()] = true; }
    }
}
echo implode("\n", array_keys($caught)), "\n", $kept[3][0], "\n";
?>
--EXPECT--
call plain
array plain
loop plain
call calls
array calls
loop calls
call finally
array finally
loop finally
finally
