<?php

declare(strict_types=1);

// What of PHP's configuration decides how fast it is, as this runtime has it.

/** @return array<string, string> */
function bench_settings(): array
{
    $settings = ['PHP' => PHP_VERSION . (PHP_ZTS ? ' ZTS' : ' NTS'), 'SAPI' => PHP_SAPI];
    $names = ['memory_limit', 'opcache.enable', 'opcache.enable_cli', 'opcache.validate_timestamps', 'opcache.revalidate_freq', 'opcache.memory_consumption',
        'opcache.max_accelerated_files', 'opcache.jit', 'opcache.jit_buffer_size', 'opcache.preload', 'realpath_cache_size', 'apc.enabled', 'display_errors',
        'zend.assertions', 'session.save_handler'];
    foreach ($names as $name) {
        $value = ini_get($name);
        if ($value !== false) {
            $settings[$name] = $value;
        }
    }
    $status = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
    $settings['opcache'] = is_array($status) && $status['opcache_enabled'] ? 'on' : 'off';
    $settings['jit'] = is_array($status) && ($status['jit']['on'] ?? false) ? 'on' : 'off';
    if (is_array($status['preload_statistics'] ?? null)) {
        $settings['preload_memory_bytes'] = (string) $status['preload_statistics']['memory_consumption'];
        $settings['preloaded'] = sprintf('%d classes, %d functions, %d scripts, %.2f MB', count($status['preload_statistics']['classes'] ?? []),
            count($status['preload_statistics']['functions'] ?? []), count($status['preload_statistics']['scripts'] ?? []),
            $status['preload_statistics']['memory_consumption'] / 1048576);
    }
    $watching = array_filter(['xdebug', 'pcov', 'tideways', 'blackfire', 'uopz'], 'extension_loaded');
    $settings['debugging extensions'] = $watching === [] ? 'none' : implode(', ', $watching);

    return $settings;
}
