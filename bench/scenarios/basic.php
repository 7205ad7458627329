<?php

declare(strict_types=1);

// "Hello world": what a request costs before the application does anything.

function boot(): void
{
}

function respond(): string
{
    return 'ok';
}
