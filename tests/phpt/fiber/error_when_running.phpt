--TEST--
Misuse of fibers gives PHP's own errors
--FILE--
<?php
$fiber = new Fiber(function () use (&$fiber) {
    try {
        $fiber->resume();
    } catch (FiberError $e) {
        echo $e->getMessage(), "\n";
    }
});
$fiber->start();
try {
    $fiber->start();
} catch (FiberError $e) {
    echo $e->getMessage(), "\n";
}
try {
    (function () {
        Fiber::suspend();
    })();
} catch (FiberError $e) {
    echo $e->getMessage(), "\n";
}
--EXPECT--
Cannot resume a fiber that is not suspended
Cannot start a fiber that has already been started
Cannot suspend outside of a fiber
