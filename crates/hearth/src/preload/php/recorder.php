<?php
/**
 * Records which files requests load, for `hearth preload build`. It needs this file and the folder that it is in:
 *
 *     auto_prepend_file = FOLDER/recorder.php
 *
 * in php.ini, in a php-fpm pool (php_admin_value[auto_prepend_file]) or for Apache (php_admin_value auto_prepend_file). An
 * auto_prepend_file that is there already can `require` it instead. At most one request in INTERVAL seconds is recorded; each
 * other one costs a look at a file's time. It declares no name and fails no request: what it cannot write it leaves.
 */
(static function (float $interval, bool $queries): void {
    $folder = __DIR__ . '/routes';
    if (PHP_SAPI === 'cli' || PHP_SAPI === 'phpdbg' || ($interval > 0 && microtime(true) - (int) @filemtime("$folder/.last") < $interval)) {
        return;
    }
    $server = $_SERVER;

    // The project: the nearest folder above the script that has Composer packages, else the folder that the web server
    // serves.
    $project = static function (string $script, string $documents): string {
        for ($folder = dirname($script), $n = 0; $n < 5 && strlen($folder) > 1; $folder = dirname($folder), $n++) {
            if (is_file("$folder/composer.json") || is_file("$folder/composer.lock") || is_file("$folder/vendor/autoload.php")) {
                return $folder;
            }
        }
        return str_starts_with($script, "$documents/") ? $documents : dirname($script);
    };
    // Numbers, keys, addresses and the like, which are not part of a route.
    $isValue = static function (string $segment): bool {
        $digits = preg_match_all('/\d/', $segment);
        return strlen($segment) > 40 || preg_match('/@|%40/', $segment) || ($digits > 0 && $digits === strlen($segment))
            || ($digits > 3 && strlen($segment) > 11)
            || (strlen($segment) > 15 && !preg_match('/[-_.~+ ]|%20/', $segment) && ($digits > 0 || preg_match('/[a-z].*[A-Z]/', $segment)));
    };
    $path = static fn (string $uri): array => explode('/', strstr("$uri?", '?', true));
    $route = static function (array $server, int $status) use ($isValue, $path): string {
        if ($status >= 400) {
            return "(status $status)";
        }
        $segments = array_map(static fn (string $one): string => $isValue($one) ? '*' : $one, $path($server['REQUEST_URI'] ?? '/'));
        return ($server['REQUEST_METHOD'] ?? 'GET') . ' ' . implode('/', $segments);
    };
    // Whether the path may be requested again: no key, no address, and a query string only with --queries.
    $isPlain = static function (array $server, int $status) use ($isValue, $path, $queries): bool {
        $uri = $server['REQUEST_URI'] ?? '';
        $values = array_filter($path($uri), static fn (string $one): bool => $isValue($one) && !ctype_digit($one));
        return $status === 200 && ($server['REQUEST_METHOD'] ?? '') === 'GET' && !isset($server['HTTP_AUTHORIZATION'])
            && strlen($uri) < 500 && $values === [] && ($queries || !str_contains($uri, '?'));
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
    // With many routes, such as pages with names, only the first part counts; with even more, all others share one entry.
    $named = static function (string $name, Closure $file) use ($folder): array {
        $coarse = preg_replace('~^(\S+ /[^/]*/).+~', '$1**', $name);
        foreach ([300 => $name, 600 => $coarse] as $most => $one) {
            if (is_file($file($one)) || count(scandir($folder)) < $most) {
                return [$one, $file($one)];
            }
        }
        return ['(other)', $file('(other)')];
    };
    $record = static function () use ($folder, $server, $project, $route, $isPlain, $settings, $named): void {
        $script = realpath($server['SCRIPT_FILENAME'] ?? '') ?: '';
        $documents = realpath($server['CONTEXT_DOCUMENT_ROOT'] ?? $server['DOCUMENT_ROOT'] ?? '') ?: dirname($script);
        $root = $project($script, $documents);
        $status = (int) http_response_code();
        $relative = static fn (string $file): string => str_starts_with($file, "$root/") ? substr($file, strlen($root) + 1) : $file;
        $loaded = array_fill_keys(array_diff(get_included_files(), [__FILE__]), true);
        $hidden = [];
        $preloaded = function_exists('opcache_get_status') ? opcache_get_status(false)['preload_statistics']['scripts'] ?? [] : [];
        if ($preloaded) {
            // Preloaded files are not included. Only Hearth knows which were used, and of which that cannot be seen.
            $used = function_exists('Hearth\Internal\preloadedFilesUsed') ? \Hearth\Internal\preloadedFilesUsed() : array_fill_keys($preloaded, false);
            $loaded += array_filter($used);
            $hidden = array_diff_key($used, $loaded);
        }
        $turn = $loaded ? fopen("$folder/.lock", 'c') : false;
        if (!$turn || !flock($turn, LOCK_EX | LOCK_NB)) {
            return;
        }
        touch("$folder/.last");
        $lock = is_file("$root/composer.lock") ? hash_file('xxh128', "$root/composer.lock") : '';
        $key = static fn (string $name): string => hash('xxh128', implode("\0", [PHP_VERSION, PHP_SAPI, $root, $lock, $name]));
        [$name, $file] = $named($route($server, $status), static fn (string $name): string => "$folder/{$key($name)}.json");
        $before = is_file($file) ? json_decode((string) file_get_contents($file), true) : null;
        $entry = is_array($before) ? $before : [
            'format' => 1, 'route' => $name, 'root' => $root, 'lock' => $lock, 'script' => $relative($script), 'requests' => 0, 'first' => time(),
            'document_root' => $documents === $root ? '' : $relative($documents), 'host' => $server['HTTP_HOST'] ?? '', 'uris' => [], 'files' => [], 'hidden' => [],
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
        if (count($entry['uris']) < 3 && !in_array($uri, $entry['uris'], true) && $isPlain($server, $status)) {
            $entry['uris'][] = $uri;
        }
        // A process that is killed here leaves the old entry.
        $text = json_encode($entry, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_IGNORE);
        if ($text !== false && file_put_contents("$folder/.next", $text) === strlen($text)) {
            rename("$folder/.next", $file);
        }
    };
    // Destroyed after all shutdown functions, even if one of them calls exit().
    $end = new class ($record) {
        public function __construct(private readonly Closure $record)
        {
        }

        public function __destruct()
        {
            set_error_handler(static fn (): bool => true);
            try {
                ($this->record)();
            } catch (\Throwable) {
            } finally {
                restore_error_handler();
            }
        }
    };
    register_shutdown_function(static function () use ($end): void {
    });
})(INTERVAL, QUERIES);
