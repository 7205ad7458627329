--TEST--
A suspended generator is destroyed while an exception passes, and its own code throws
--SKIPIF--
<?php
// PHP 8.2 loses the place of the exception: it is not caught, or what the caller holds is freed.
if (getenv('PHPT_WAY') === 'php') { echo 'skip a defect of the engine'; }
?>
--FILE--
<?php
$left = function (Closure $inside) {
    $generator = (function () use ($inside) { try { yield 1; } finally { $inside(); } })();
    $generator->current();
    throw new Exception('passes');
};
$delegates = function (Closure $inside) {
    $inner = (function () use ($inside) { try { yield 1; } finally { $inside(); } })();
    $generator = (function () use (&$inner) { try { yield from $inner; } finally { usleep(3); } })();
    $generator->current();
    $inner = null;
    throw new Exception('passes');
};
$exits = function (Closure $inside) {
    $fiber = new Fiber(function () use ($inside) {
        $generator = (function () use ($inside) { try { yield 1; } finally { $inside(); } })();
        $generator->current();
        Fiber::suspend();
    });
    $fiber->start();
    throw new Exception('passes');
};
$ends = [
    'waits' => function () { usleep(3); },
    'throws' => function () { throw new LogicException('instead'); },
    'catches' => function () { try { throw new LogicException('inside'); } catch (LogicException) { usleep(3); } },
];
foreach (['left' => $left, 'delegates' => $delegates, 'in a fiber' => $exits] as $where => $leave) {
    foreach ($ends as $name => $inside) {
        $caught = [];
        $kept = array_fill(0, 4, new ArrayObject([$name]));
        for ($n = 0; $n < 20; $n++) {
            try {
                $made = [$leave($inside), $kept, strrev($name) . $leave($inside)];
            } catch (Exception $exception) {
                $caught[$exception->getMessage() . ' ' . $exception->getPrevious()?->getMessage()] = true;
            }
        }
        echo "$where, $name: ", implode(', ', array_keys($caught)), ' ', $kept[3][0], "\n";
    }
}
?>
--EXPECT--
left, waits: passes  waits
left, throws: instead passes throws
left, catches: passes  catches
delegates, waits: passes  waits
delegates, throws: instead passes throws
delegates, catches: passes  catches
in a fiber, waits: passes  waits
in a fiber, throws: instead passes throws
in a fiber, catches: passes  catches
