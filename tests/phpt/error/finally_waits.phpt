--TEST--
Exceptions pass through waits in finally, with their chain
--FILE--
<?php
$run = function () {
    try {
        try {
            usleep(500);
            throw new LogicException('first');
        } finally {
            usleep(500);
            echo "inner finally\n";
        }
    } catch (LogicException $e) {
        usleep(500);
        throw new RuntimeException('second', 5, $e);
    } finally {
        usleep(500);
        echo "outer finally\n";
    }
};
try {
    $run();
} catch (RuntimeException $e) {
    printf("%s %d %s\n", $e->getMessage(), $e->getCode(), $e->getPrevious()->getMessage());
}
--EXPECT--
inner finally
outer finally
second 5 first
