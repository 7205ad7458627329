<?php

declare(strict_types=1);

// hello.php with 100 classes autoloaded at boot: a warm app costs a request nothing. CLASSES is a directory of
// C001.php to C100.php, made by bench/run.

spl_autoload_register(static function (string $class): void {
    require getenv('CLASSES') . "/$class.php";
});
for ($number = 1; $number <= 100; $number++) {
    $class = sprintf('C%03d', $number);
    new $class($number);
}

return fn () => 'ok';
