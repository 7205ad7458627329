<?php

// The same from a static variable of the worker.

require __DIR__ . '/rows_of.php';

$rows = rows();

return fn () => print_r($rows, true);
