<?php

declare(strict_types=1);

// 100 of 400 classes, drawn at random, are loaded by each request that does not have them yet.

function boot(): void
{
    error_reporting(E_ALL);
    require_once CLASSES . '/functions.php';
    require_once CLASSES . '/autoload.php';
}

function respond(): string
{
    load_random_classes(100);

    return 'ok';
}
