<?php

declare(strict_types=1);

// 200 rows as JSON, about 20 kB: what compression costs and saves.

function boot(): void
{
}

function respond(): string
{
    $rows = [];
    for ($number = 1; $number <= 200; $number++) {
        $rows[] = ['id' => $number, 'name' => "Item number $number", 'price' => $number / 100, 'tags' => ['new', 'sale', "group-$number"], 'active' => $number % 2 === 0];
    }

    return json_encode($rows);
}
