<?php
// A request of a classic site: loads the files in order and says how long each took, in ns, and what opcache keeps of it, in bytes.
['files' => $files, 'guards' => $guards] = json_decode(file_get_contents(__DIR__ . '/files.json'), true);
$result = [];
// What `defined('X') || exit;` asks for.
foreach ($guards as $name) {
    defined($name) || define($name, '');
}
foreach ($files as $file) {
    file_put_contents(__DIR__ . '/current', $file);
    if (is_file($file)) {
        ob_start();
        $began = hrtime(true);
        require_once $file;
        $result[$file][0] = hrtime(true) - $began;
        ob_end_clean();
    }
}
file_put_contents(__DIR__ . '/current', '');
foreach (opcache_get_status(true)['scripts'] ?? [] as $file => $script) {
    isset($result[$file]) && $result[$file][1] = $script['memory_consumption'];
}
header('Content-Type: application/json');
echo json_encode($result);
