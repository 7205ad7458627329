<?php

declare(strict_types=1);

// Fast, unless ?burn: then 30 ms of this process's CPU.

require __DIR__ . '/burn.php';

return static function (Hearth\Request $request): string {
    if ($request->queryString === 'burn') {
        burn(30_000);
    }

    return 'ok';
};
