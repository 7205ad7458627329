<?php
// Requires a file and prints its side effects besides classes and functions: a line of JSON with the list of changes.
$state = static fn (): array => [
    'constants' => array_keys(get_defined_constants()),
    'settings' => ini_get_all(null, false),
    'files' => get_included_files(),
    'autoloaders' => count(spl_autoload_functions()),
    'aliases' => array_values(array_filter(array_merge(get_declared_classes(), get_declared_interfaces(), get_declared_traits()), static fn (string $name): bool => (new ReflectionClass($name))->isUserDefined() && strcasecmp((new ReflectionClass($name))->getName(), $name) !== 0)),
    'descriptors' => scandir('/proc/self/fd'),
    'globals' => array_keys($GLOBALS),
    'directory' => getcwd(),
    'locale' => setlocale(LC_ALL, '0'),
    'time zone' => date_default_timezone_get(),
    'stream wrappers' => stream_get_wrappers(),
    'error handler' => [set_error_handler(null), restore_error_handler()][0],
    'exception handler' => [set_exception_handler(null), restore_exception_handler()][0],
    'environment' => getenv(),
];
$before = $after = $changes = $printed = $thrown = null;
ob_start();
$before = $state();
try {
    (static function (string $file): void {
        require $file;
    })($argv[1]);
    $after = $state();
    $after['files'] = array_values(array_diff($after['files'], [realpath($argv[1])]));
    $changes = array_keys(array_filter($after, static fn ($now, string $kind): bool => $now != $before[$kind], ARRAY_FILTER_USE_BOTH));
} catch (Throwable $thrown) {
    $changes = ['an exception: ' . $thrown->getMessage()];
}
$printed = ob_get_clean();
if ($printed !== '') {
    $changes[] = 'output';
}
fwrite(STDOUT, json_encode(['changes' => $changes, 'classes' => array_values(array_filter(get_declared_classes(), static fn (string $name): bool => (new ReflectionClass($name))->getFileName() === realpath($argv[1])))]) . "\n");
