<?php
// Reads names of files, a line each, and prints what each file declares: a line of JSON per file. A file that does not
// compile ends the process; its name is printed before.
$isInternal = static fn (string $name): bool => (class_exists($name, false) || interface_exists($name, false)) && (new ReflectionClass($name))->isInternal();
ini_set('memory_limit', -1);
while (($file = fgets(STDIN)) !== false) {
    $file = rtrim($file, "\n");
    fwrite(STDOUT, json_encode(['begin' => $file]) . "\n");
    $facts = Hearth\Internal\preloadFacts($file);
    $facts += ['classes' => []];
    foreach ($facts['classes'] as &$class) {
        foreach (['needs', 'uses'] as $kind) {
            $names = array_map(strval(...), array_keys($class[$kind]));
            $class[$kind] = array_values(array_filter($names, static fn (string $name): bool => !$isInternal($name) && !in_array(strtolower($name), ['self', 'static', 'parent'], true)));
        }
    }
    unset($class);
    foreach (['functions', 'conditional', 'code'] as $kind) {
        $facts[$kind] = array_map(strval(...), array_keys($facts[$kind] ?? []));
    }
    fwrite(STDOUT, json_encode(['file' => $file, 'size' => filesize($file), 'hash' => hash_file('sha256', $file)] + $facts, JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
}
