<?php
/**
 * Records which files requests load, for `hearth preload build`. It needs this file and the folder that it is in:
 *
 *     auto_prepend_file = FOLDER/recorder.php
 *
 * in php.ini, in a php-fpm pool (php_admin_value[auto_prepend_file]) or for Apache (php_admin_value auto_prepend_file). An
 * auto_prepend_file that is there already can `require` it instead. At most one request in INTERVAL seconds is recorded; each
 * other one costs a look at a file's time. It declares nothing and fails no request: what it cannot write it leaves.
 */
(static function (float $interval): void {
    $folder = __DIR__ . '/routes';
    if (PHP_SAPI === 'cli' || PHP_SAPI === 'phpdbg' || ($interval > 0 && microtime(true) - (int) @filemtime("$folder/.last") < $interval)) {
        return;
    }
    $server = $_SERVER;

    // The project: the nearest folder above the script that has packages of Composer, else the script's own.
    $project = static function (string $script): string {
        for ($folder = dirname($script), $n = 0; $n < 5 && strlen($folder) > 1; $folder = dirname($folder), $n++) {
            if (is_file("$folder/composer.json") || is_file("$folder/composer.lock") || is_file("$folder/vendor/autoload.php")) {
                return $folder;
            }
        }
        return dirname($script);
    };
    // Numbers and keys in a path are one route.
    $route = static function (array $server, int $status): string {
        if ($status >= 400) {
            return "(status $status)";
        }
        $segments = explode('/', strstr(($server['REQUEST_URI'] ?? '/') . '?', '?', true));
        foreach ($segments as &$segment) {
            $digits = preg_match_all('/\d/', $segment);
            if (strlen($segment) > 40 || ($digits > 0 && ($digits === strlen($segment) || ($digits > 3 && strlen($segment) > 11)))) {
                $segment = '*';
            }
        }
        return ($server['REQUEST_METHOD'] ?? 'GET') . ' ' . implode('/', $segments);
    };
    $settings = static function (): array {
        $found = ['php' => PHP_VERSION, 'sapi' => PHP_SAPI, 'ini' => (string) php_ini_loaded_file(), 'scanned' => '', 'opcache' => []];
        $scanned = php_ini_scanned_files();
        if ($scanned) {
            $found['scanned'] = dirname(trim(strstr($scanned . ',', ',', true)));
        }
        foreach (['memory_consumption', 'interned_strings_buffer', 'max_accelerated_files', 'validate_timestamps', 'optimization_level', 'jit', 'jit_buffer_size', 'preload', 'preload_user'] as $name) {
            $found['opcache'][$name] = (string) ini_get("opcache.$name");
        }
        return $found;
    };
    $record = static function () use ($folder, $server, $project, $route, $settings): void {
        $script = realpath($server['SCRIPT_FILENAME'] ?? '') ?: '';
        $root = $project($script);
        $status = (int) http_response_code();
        $relative = static fn (string $file): string => str_starts_with($file, "$root/") ? substr($file, strlen($root) + 1) : $file;
        $loaded = array_fill_keys(array_diff(get_included_files(), [__FILE__]), true);
        $hidden = [];
        $preloaded = function_exists('opcache_get_status') ? opcache_get_status(false)['preload_statistics']['scripts'] ?? [] : [];
        if ($preloaded) {
            // Nothing is included for these; only Hearth can say which of them were used, and of which that cannot be seen.
            $used = function_exists('Hearth\Internal\preloadedFilesUsed') ? \Hearth\Internal\preloadedFilesUsed() : array_fill_keys($preloaded, false);
            $loaded += array_filter($used);
            $hidden = array_diff_key($used, $loaded);
        }
        if (!$loaded) {
            return;
        }
        $lock = is_file("$root/composer.lock") ? hash_file('xxh128', "$root/composer.lock") : '';
        $name = $route($server, $status);
        $key = [PHP_VERSION, $root, $lock, $name];
        $file = "$folder/" . hash('xxh128', implode("\0", $key)) . '.json';
        $turn = fopen("$folder/.lock", 'c');
        if (!$turn || !flock($turn, LOCK_EX | LOCK_NB)) {
            return;
        }
        touch("$folder/.last");
        if (!is_file($file) && count(scandir($folder)) > 1000) {
            [$key[3], $name] = ['(other)', '(other)'];
            $file = "$folder/" . hash('xxh128', implode("\0", $key)) . '.json';
        }
        $before = is_file($file) ? json_decode((string) file_get_contents($file), true) : null;
        $entry = is_array($before) ? $before : [
            'format' => 1, 'route' => $name, 'root' => $root, 'lock' => $lock, 'script' => $relative($script), 'requests' => 0, 'first' => time(),
            'document_root' => $relative(realpath($server['DOCUMENT_ROOT'] ?? '') ?: dirname($script)), 'host' => $server['HTTP_HOST'] ?? '', 'uris' => [], 'files' => [], 'hidden' => [],
        ];
        $entry = $settings() + $entry;
        $entry['requests']++;
        $entry['last'] = time();
        foreach (['files' => $loaded, 'hidden' => $hidden] as $kind => $names) {
            foreach ($names as $path => $_) {
                $path = $relative($path);
                $entry[$kind][$path] = ($entry[$kind][$path] ?? 0) + 1;
            }
            $entry[$kind] = (object) $entry[$kind];
        }
        $uri = $server['REQUEST_URI'] ?? '';
        $plain = $status === 200 && ($server['REQUEST_METHOD'] ?? '') === 'GET' && !isset($server['HTTP_AUTHORIZATION']) && strlen($uri) < 500;
        if ($plain && count($entry['uris']) < 3 && !in_array($uri, $entry['uris'], true)) {
            $entry['uris'][] = $uri;
        }
        // A process that is killed here leaves the entry as it was.
        $text = json_encode($entry, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_IGNORE);
        if ($text !== false && file_put_contents("$folder/.next", $text) === strlen($text)) {
            rename("$folder/.next", $file);
        }
    };
    // Registered again when it runs, so that it runs after the app's own.
    register_shutdown_function(static function () use ($record): void {
        register_shutdown_function(static function () use ($record): void {
            set_error_handler(static fn (): bool => true);
            try {
                $record();
            } catch (\Throwable) {
            } finally {
                restore_error_handler();
            }
        });
    });
})(INTERVAL);
