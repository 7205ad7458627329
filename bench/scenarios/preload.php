<?php

declare(strict_types=1);

// 100 of 400 classes, always the same ones: what a preload list can be made for.

function boot(): void
{
    require_once CLASSES . '/functions.php';
    require_once CLASSES . '/autoload.php';
}

function respond(): string
{
    for ($number = 1; $number <= 100; $number++) {
        $class = sprintf('Bench\C%03d', $number);
        new $class($number);
    }

    return 'ok';
}
