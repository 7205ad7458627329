<?php

/** @return list<array<string, string>> as a database gives them */
function rows(): array
{
    return array_map(static fn (int $n): array => ['id' => (string) $n, 'name' => "name $n"], range(1, 20));
}
