<?php

declare(strict_types=1);

namespace Hearth\Tests;

// Under plain `php` the primitives come from the shim, and the library is loaded here: each file of the list, in order. Under
// `hearth run` they are the real ones, and the server loads each class of the library where it is named.

\spl_autoload_register(static function (string $class): void {
    if (\str_starts_with($class, 'Hearth\Tests\\')) {
        $file = __DIR__ . '/' . \strtr(\substr($class, \strlen('Hearth\Tests\\')), '\\', '/') . '.php';
        if (\is_file($file)) {
            require $file;
        }
    }
});

foreach (['Nyholm/Psr7', 'Psr/Log', 'Psr/Cache', 'Psr/SimpleCache', 'Doctrine/DBAL', 'Illuminate/Database', 'Illuminate/Contracts', 'Illuminate/Cache', 'Illuminate/Http', 'Symfony/Contracts/Cache', 'Symfony/Component/HttpKernel', 'Symfony/Component/HttpFoundation'] as $package) {
    $autoload = "/usr/share/php/$package/autoload.php";
    if (\is_file($autoload)) {
        require_once $autoload;
    }
}
require_once __DIR__ . '/Fixtures/interfaces.php';

if (!\function_exists('Hearth\Internal\park')) {
    require __DIR__ . '/Shim/primitives.php';
    require __DIR__ . '/Shim/Request.php';
    require __DIR__ . '/Shim/WaitQueue.php';
    require __DIR__ . '/Shim/Histogram.php';
    require __DIR__ . '/Shim/LeaseTable.php';
    $files = \file(__DIR__ . '/../src/prelude.list', \FILE_IGNORE_NEW_LINES | \FILE_SKIP_EMPTY_LINES);
    foreach (['errors.php', ...$files, 'functions.php'] as $file) {
        if ($file === 'Cache/APCUIterator.php') {
            continue; // APCu has its own, and here are no functions for it
        }
        require __DIR__ . '/../src/' . $file;
    }
}

Services::stopAtTheEnd();
