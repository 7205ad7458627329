--TEST--
A fiber that is never finished is unwound when it is destroyed, waits in finally included
--FILE--
<?php
(function () {
    $fiber = new Fiber(function () {
        try {
            Fiber::suspend();
            echo "never\n";
        } finally {
            usleep(1000);
            echo "finally\n";
        }
    });
    $fiber->start();
    echo "started\n";
})();
echo "after\n";
--EXPECT--
started
finally
after
