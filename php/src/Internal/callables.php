<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * @internal
 * @param array<array-key, mixed> $callables
 * @throws \TypeError that names the first item that cannot be called
 */
function requireCallables(string $function, array $callables): void
{
    foreach ($callables as $key => $item) {
        if (!$item instanceof \Closure && !\is_callable($item)) {
            throw new \TypeError("$function(): item " . \var_export($key, true) . ' is not callable, but ' . \get_debug_type($item));
        }
    }
}
