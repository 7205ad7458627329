<?php

declare(strict_types=1);

// TechEmpower's plaintext.

function boot(): void
{
}

function respond(): string
{
    return 'Hello, World!';
}
