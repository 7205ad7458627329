<?php

declare(strict_types=1);

// One read of 10 kB from the memory that all workers share.

$text = apcu_fetch('text', $there);
if (!$there) {
    apcu_store('text', $text = str_repeat('x', 10_000));
}

echo strlen($text) === 10_000 ? 'ok' : 'broken';
