<?php
/**
 * Made by `hearth preload build`, for opcache.preload; build it again after each release of the app or of PHP.
 * HEADER
 *
 * Changed files, and all files that need them, are left out and reported in PHP's error log; PHP starts in any case.
 */
(static function (): void {
    $root = 'ROOT';
    $say = static fn (string $what) => error_log("preload: $what");
    if (PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION !== 'RELEASE') {
        $say('nothing is preloaded, because the list is for PHP ' . 'RELEASE' . ' and this is ' . PHP_VERSION . '; build it again');
        return;
    }
    // Each file: name, size, SHA-256, places of earlier files that it needs, whether it is run, its classes, its functions.
    $files = [
        'FILES',
    ];
    // Strings that do not fit in their buffer are kept beside the code. PHP does not start if not everything fits.
    $strings = (int) ini_get('opcache.interned_strings_buffer') << 20;
    $room = ((int) ini_get('opcache.memory_consumption') << 20) - $strings - 100 * (int) ini_get('opcache.max_accelerated_files') - (1 << 19);
    if ($room < 0 /* MEMORY */ + max(0, 0 /* STRINGS */ - $strings)) {
        $say('nothing is preloaded, because opcache.memory_consumption is too small for the list');
        return;
    }
    if ((int) ini_get('opcache.max_accelerated_files') < count($files) + 100) {
        $say('nothing is preloaded, because opcache.max_accelerated_files is too small for the list');
        return;
    }
    $kept = $left = [];
    foreach ($files as $place => [$name, $size, $hash, $needs, , $classes, $functions]) {
        $path = $name[0] === '/' ? $name : "$root/$name";
        $declared = static fn (string $class): bool => class_exists($class, false) || interface_exists($class, false) || trait_exists($class, false);
        $why = match (true) {
            !is_readable($path) => 'it is gone',
            filesize($path) !== $size || hash_file('sha256', $path) !== $hash => 'it has changed',
            array_diff_key(array_flip($needs), $kept) !== [] => 'it needs a file that is left out',
            array_filter($functions, function_exists(...)) !== [], array_filter($classes, $declared) !== [] => 'PHP has what it declares',
            default => null,
        };
        if ($why === null) {
            $kept[$place] = $path;
        } else {
            $left[] = "$name, because $why";
        }
    }
    foreach ($kept as $place => $path) {
        $files[$place][4] || opcache_compile_file($path);
    }
    foreach ($kept as $place => $path) {
        if (!$files[$place][4]) {
            continue;
        }
        try {
            require_once $path;
        } catch (Throwable $thrown) {
            $left[] = "{$files[$place][0]}, because its code does not run: {$thrown->getMessage()}";
        }
    }
    if ($left) {
        $say(sprintf('%d of %d files are left out, first %s; build the list again', count($left), count($files), $left[0]));
    }
})();
