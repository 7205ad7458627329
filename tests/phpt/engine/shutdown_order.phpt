--TEST--
exit runs no finally block, but shutdown functions in order, then destructors
--FILE--
<?php
$object = new class { public function __destruct() { echo "destructor\n"; } };
register_shutdown_function(function () { usleep(500); echo "first\n"; });
register_shutdown_function(function () { echo "second\n"; });
(function () {
    try {
        usleep(500);
        exit("exit\n");
    } finally {
        echo "finally must not run\n";
    }
})();
--SKIPIF--
<?php if (getenv('PHPT_WAY') === 'requests') echo 'skip the object is a local variable of the handler, so exit ends it first'; ?>
--EXPECT--
exit
first
second
destructor
