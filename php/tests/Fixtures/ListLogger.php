<?php

declare(strict_types=1);

namespace Hearth\Tests\Fixtures;

/** Remembers what was logged; shaped like PSR-3, whose versions differ in their types. */
final class ListLogger
{
    /** @var list<string> */
    public array $lines = [];

    public function log($level, $message, array $context = []): void
    {
        $this->lines[] = "$level: $message";
    }

    public function has(string $part): bool
    {
        foreach ($this->lines as $line) {
            if (\str_contains($line, $part)) {
                return true;
            }
        }

        return false;
    }
}
