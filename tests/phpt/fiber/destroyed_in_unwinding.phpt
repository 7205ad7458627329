--TEST--
A suspended Fiber is destroyed while an exception passes, behind an object with a destructor
--SKIPIF--
<?php
// PHP 8.2 to 8.4 lose the place of the exception: it is not caught, or the process crashes.
if (getenv('PHPT_WAY') === 'php') { echo 'skip a defect of the engine'; }
?>
--FILE--
<?php
if (!class_exists('Dies', false)) {
    eval('class Dies { public function __construct(private Closure $fn) {} public function __destruct() { ($this->fn)(); } }');
}
$leave = function (Closure $inside) {
    $object = new Dies(function () {});
    $fiber = new Fiber(function () use ($inside) { $inside(); });
    $fiber->start();
    throw new Exception('passes');
};
$ends = [
    'plain' => function () { Fiber::suspend(); },
    'finally' => function () { try { Fiber::suspend(); } finally { usleep(3); } },
    'generator' => function () {
        foreach ((function () { try { yield Fiber::suspend(); } finally { usleep(3); } })() as $x) { usleep(5); }
    },
    'throws' => function () { try { Fiber::suspend(); } finally { throw new LogicException('instead'); } },
];
foreach ($ends as $name => $inside) {
    $caught = [];
    for ($n = 0; $n < 20; $n++) {
        try {
            $leave($inside);
        } catch (Exception $exception) {
            $caught[$exception->getMessage() . ' ' . $exception->getPrevious()?->getMessage()] = true;
        }
    }
    echo "$name: ", implode(', ', array_keys($caught)), "\n";
}
?>
--EXPECT--
plain: passes 
finally: passes 
generator: passes 
throws: instead passes
