<?php
// Runs with the list preloaded: prints the claimed classes and functions that are missing, and the statistics.
$claimed = json_decode(file_get_contents($argv[1]), true);
$status = opcache_get_status(true);
$is = static fn (string $name): bool => class_exists($name, false) || interface_exists($name, false) || trait_exists($name, false);
echo json_encode([
    'missing' => array_values(array_filter($claimed['classes'], static fn (string $name): bool => !$is($name))),
    'missing_functions' => array_values(array_filter($claimed['functions'], static fn (string $name): bool => !function_exists($name))),
    'memory' => $status['preload_statistics']['memory_consumption'] ?? 0,
    'classes' => count($status['preload_statistics']['classes'] ?? []),
    'functions' => count($status['preload_statistics']['functions'] ?? []),
    'scripts' => count($status['preload_statistics']['scripts'] ?? []),
    'used_memory' => $status['memory_usage']['used_memory'] ?? 0,
    'free_memory' => $status['memory_usage']['free_memory'] ?? 0,
    'strings_used' => $status['interned_strings_usage']['used_memory'] ?? 0,
    'strings_size' => $status['interned_strings_usage']['buffer_size'] ?? 0,
]), "\n";
