<?php

require __DIR__ . '/vendor/autoload.php';

return new App\Kernel('prod', false);
