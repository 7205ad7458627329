<?php

declare(strict_types=1);

// Three pages, each with classes of its own out of 400: a list of one page's classes does not fit the others.

const PAGES = [1 => [1, 100], 2 => [51, 150], 3 => [201, 240]];

function boot(): void
{
    require_once CLASSES . '/functions.php';
    require_once CLASSES . '/autoload.php';
}

function respond(string $path, string $query): string
{
    [$first, $last] = PAGES[(int) substr($query, strlen('page='))] ?? PAGES[1];
    for ($number = $first; $number <= $last; $number++) {
        $class = sprintf('Bench\C%03d', $number);
        new $class($number);
    }

    return 'ok';
}
