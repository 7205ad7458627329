--TEST--
Waiting inside a fiber does not disturb suspend and resume
--FILE--
<?php
$fiber = new Fiber(function (int $a): string {
    usleep(2000);
    $b = Fiber::suspend($a + 1);
    usleep(2000);
    try {
        Fiber::suspend($b + 1);
    } catch (RuntimeException $e) {
        usleep(2000);
        return 'caught ' . $e->getMessage();
    }
    return 'not thrown';
});
var_dump($fiber->start(1));
usleep(1000);
var_dump($fiber->resume(10));
var_dump($fiber->throw(new RuntimeException('mine')));
var_dump($fiber->getReturn(), $fiber->isTerminated(), Fiber::getCurrent());
--EXPECT--
int(2)
int(11)
NULL
string(11) "caught mine"
bool(true)
NULL
