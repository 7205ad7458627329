<?php
// What crosses over from request to request, each with its row of the table of engine state (crates/php-sys/state/*.toml).

final class ProbeStatics
{
    public static int $property = 0;
}

function counted(bool $count): int
{
    static $times = 0;

    return $times += (int) $count;
}

/** Of no other worker. */
function key_of_probe(int $number): int
{
    return 0x50000000 + getmypid() * 8 + $number;
}

$statics = 'global variables and statics';
$signals = 'signals, limits, priority';
$libraries = 'settings of C libraries';
$kernel = 'shared memory, semaphores and queues';

return [
    'a global variable' => [function () { $GLOBALS['PROBE'] = 'of-one'; }, fn () => $GLOBALS['PROBE'] ?? null, $statics],
    'a static property' => [function () { ProbeStatics::$property = 7; }, fn () => ProbeStatics::$property, $statics],
    'a static variable' => [fn () => counted(counted(false) === 0), fn () => counted(false), $statics],
    'a constant' => [fn () => defined('PROBE') || define('PROBE', 'of-one'), fn () => defined('PROBE'), 'definitions'],
    'a class' => [fn () => class_exists('ProbeMade', false) || eval('class ProbeMade {}'), fn () => class_exists('ProbeMade', false), 'definitions'],
    'a class alias' => [fn () => class_exists('ProbeAlias', false) || class_alias(ProbeFilter::class, 'ProbeAlias'), fn () => class_exists('ProbeAlias', false), 'definitions'],
    'a function' => [fn () => function_exists('probe_made') || eval('function probe_made() {}'), fn () => function_exists('probe_made'), 'definitions'],
    'an included file' => [
        function () { $file = sys_get_temp_dir() . '/probe-' . getmypid() . '.php'; file_put_contents($file, '<?php'); require_once $file; unlink($file); },
        fn () => in_array(sys_get_temp_dir() . '/probe-' . getmypid() . '.php', get_included_files(), true),
        'definitions',
    ],
    'spl_autoload_register()' => [fn () => spl_autoload_register('is_object'), fn () => in_array('is_object', spl_autoload_functions(), true), 'autoloaders'],
] + (!extension_loaded('apcu') || !apcu_enabled() ? [] : [
    'apcu_store()' => [fn () => apcu_store('probe', 'of-one'), fn () => apcu_fetch('probe'), 'path caches'],
]) + (!extension_loaded('gettext') ? [] : [
    'bindtextdomain()' => [fn () => bindtextdomain('probe', '/usr'), fn () => bindtextdomain('probe', null), $libraries],
    'bind_textdomain_codeset()' => [fn () => bind_textdomain_codeset('probe', 'ISO-8859-1'), fn () => bind_textdomain_codeset('probe', null), $libraries],
]) + (!extension_loaded('readline') ? [] : [
    'readline_add_history()' => [fn () => readline_add_history('secret'), fn () => function_exists('readline_list_history') ? readline_list_history() : readline_info()['line_buffer'], $libraries],
    'readline_info()' => [fn () => readline_info('readline_name', 'secret'), fn () => readline_info('readline_name'), $libraries],
]) + (!extension_loaded('FFI') || ini_get('ffi.enable') !== '1' ? [] : [
    'a variable of C, by FFI' => [
        function () { FFI::cdef('extern int optind;')->optind = 77; },
        fn () => FFI::cdef('extern int optind;')->optind,
        $libraries,
    ],
]) + (!extension_loaded('ldap') ? [] : [
    'ldap_set_option()' => [
        fn () => ldap_set_option(null, LDAP_OPT_TIMELIMIT, 77),
        function () { ldap_get_option(ldap_connect('ldap://127.0.0.1:1'), LDAP_OPT_TIMELIMIT, $value); return $value; },
        $libraries,
    ],
]) + (!extension_loaded('imap') ? [] : [
    'imap_timeout()' => [fn () => imap_timeout(IMAP_OPENTIMEOUT, 77), fn () => imap_timeout(IMAP_OPENTIMEOUT), $libraries],
]) + (!extension_loaded('snmp') ? [] : [
    'snmp_set_quick_print()' => [fn () => snmp_set_quick_print(true), fn () => snmp_get_quick_print(), $libraries],
]) + (!extension_loaded('imagick') ? [] : [
    'Imagick::setResourceLimit()' => [
        fn () => Imagick::setResourceLimit(Imagick::RESOURCETYPE_MEMORY, 77777777),
        fn () => Imagick::getResourceLimit(Imagick::RESOURCETYPE_MEMORY),
        $libraries,
    ],
    // The kernel keeps these behind the end of all processes, hence the fourth: what takes them away.
]) + (!extension_loaded('sysvshm') ? [] : [
    'shm_put_var()' => [
        fn () => shm_put_var(shm_attach(key_of_probe(1), 1000), 1, 'of-one'),
        fn () => @shm_get_var(shm_attach(key_of_probe(1), 1000), 1),
        $kernel,
        fn () => shm_remove(shm_attach(key_of_probe(1), 1000)),
    ],
]) + (!extension_loaded('shmop') ? [] : [
    'shmop_write()' => [
        fn () => shmop_write(shmop_open(key_of_probe(2), 'c', 0600, 8), 'secret', 0),
        function () { $block = @shmop_open(key_of_probe(2), 'a', 0, 0); return $block && shmop_read($block, 0, 6) === 'secret'; },
        $kernel,
        fn () => shmop_delete(shmop_open(key_of_probe(2), 'w', 0, 0)),
    ],
]) + (!extension_loaded('sysvmsg') ? [] : [
    'msg_send()' => [
        fn () => msg_send(msg_get_queue(key_of_probe(3), 0600), 1, 'secret'),
        fn () => msg_stat_queue(msg_get_queue(key_of_probe(3), 0600))['msg_qnum'] > 0,
        $kernel,
        fn () => msg_remove_queue(msg_get_queue(key_of_probe(3))),
    ],
]) + (!extension_loaded('sysvsem') ? [] : [
    'sem_acquire()' => [
        function () { $semaphore = sem_get(key_of_probe(4)); sem_acquire($semaphore); register_shutdown_function(static fn () => $semaphore); },
        function () { $semaphore = sem_get(key_of_probe(4)); return sem_acquire($semaphore, true) ? sem_release($semaphore) : 'taken'; },
        $kernel,
        fn () => sem_remove(sem_get(key_of_probe(4))),
    ],
]) + (!function_exists('posix_setpgid') ? [] : [
    'posix_setpgid()' => [fn () => posix_setpgid(0, 0), fn () => posix_getpgid(0) === posix_getpid(), 'identity'],
]) + (!function_exists('posix_setegid') || posix_getuid() !== 0 ? [] : [
    'posix_setegid()' => [fn () => posix_setegid(65534), fn () => posix_getegid(), 'identity'],
]) + (!function_exists('posix_setrlimit') ? [] : [
    'posix_setrlimit()' => [
        fn () => posix_setrlimit(POSIX_RLIMIT_NOFILE, 333, (int) str_replace('unlimited', '-1', (string) posix_getrlimit()['hard openfiles'])),
        fn () => posix_getrlimit()['soft openfiles'] === 333,
        $signals,
    ],
]) + (!extension_loaded('pcntl') ? [] : [
    'pcntl_signal()' => [fn () => pcntl_signal(SIGUSR2, fn () => 1), fn () => is_object(pcntl_signal_get_handler(SIGUSR2)), $signals],
    'pcntl_async_signals()' => [fn () => pcntl_async_signals(true), fn () => pcntl_async_signals(), $signals],
    'pcntl_sigprocmask()' => [
        fn () => pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2]),
        fn () => preg_match('/^SigBlk:\s*(\S+)/m', file_get_contents('/proc/thread-self/status'), $line) ? $line[1] : null,
        $signals,
    ],
    'proc_nice()' => [fn () => proc_nice(1), fn () => pcntl_getpriority(), $signals],
]) + (!function_exists('pcntl_setcpuaffinity') ? [] : [
    'pcntl_setcpuaffinity()' => [
        fn () => pcntl_setcpuaffinity(null, [pcntl_getcpuaffinity()[0]]),
        fn () => count(pcntl_getcpuaffinity()),
        $signals,
    ],
]);
