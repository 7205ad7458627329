<?php

declare(strict_types=1);

// TechEmpower's json: an object made and encoded by each request.

function boot(): void
{
}

function respond(): string
{
    return json_encode(['message' => 'Hello, World!']);
}
