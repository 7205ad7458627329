<?php

declare(strict_types=1);

// As composer's: false-like the first time, true when it is there already. The packages are Debian's.

foreach (['Bundle/FrameworkBundle', 'Component/Runtime'] as $package) {
    require_once "Symfony/$package/autoload.php";
}
require_once __DIR__ . '/../src/Kernel.php';
