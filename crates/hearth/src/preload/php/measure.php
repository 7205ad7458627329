<?php
// A request of a classic site: loads the files in order and prints how long each took, in ns, and its size in opcache, in
// bytes.
['files' => $files, 'guards' => $guards] = json_decode(file_get_contents(__DIR__ . '/files.json'), true);
$nanos = [];
// Constants that code such as `defined('X') || exit;` checks.
foreach ($guards as $name) {
    defined($name) || define($name, '');
}
foreach ($files as $file) {
    file_put_contents(__DIR__ . '/current', $file);
    if (is_file($file)) {
        ob_start();
        $began = hrtime(true);
        require_once $file;
        $nanos[$file] = hrtime(true) - $began;
        ob_end_clean();
    }
}
file_put_contents(__DIR__ . '/current', '');
$scripts = opcache_get_status(true)['scripts'] ?? [];
header('Content-Type: application/json');
echo json_encode(['nanos' => (object) $nanos, 'bytes' => (object) array_map(static fn (array $script): int => $script['memory_consumption'], $scripts)]);
