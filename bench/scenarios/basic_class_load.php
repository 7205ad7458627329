<?php

declare(strict_types=1);

// Two files are required: functions, and an autoloader with its class map.

function boot(): void
{
    error_reporting(E_ALL);
    require_once CLASSES . '/functions.php';
    require_once CLASSES . '/autoload.php';
}

function respond(): string
{
    return 'ok';
}
