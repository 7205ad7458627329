<?php

declare(strict_types=1);

// 100 classes autoloaded by every request, as a framework does. SITE/classes is made by bench/classic.

spl_autoload_register(static function (string $class): void {
    require __DIR__ . "/classes/$class.php";
});
for ($number = 1; $number <= 100; $number++) {
    $class = sprintf('C%03d', $number);
    new $class($number);
}

echo 'ok';
