<?php
// What a request is and what it has set of PHP itself.

/** The first of these values that the setting takes. */
function set_to_another(string $name): void
{
    foreach (['7', 'Asia/Tokyo', 'ISO-8859-1', 'UTF-8', 'ja', 'probe', '/tmp'] as $value) {
        if ($value !== ini_get($name) && @ini_set($name, $value) !== false) {
            return;
        }
    }
}

/** @return list<string> those that PHP code may set; without what has a probe of its own, or would end the request */
function settings(): array
{
    $own = ['memory_limit', 'open_basedir', 'error_log', 'fiber.stack_size', 'include_path', 'max_execution_time', 'implicit_flush'];

    $names = array_keys(array_filter(ini_get_all(), fn ($setting) => $setting['access'] & INI_USER));

    return array_values(array_filter($names, fn ($name) => !in_array($name, $own, true) && !str_starts_with($name, 'cgi.')));
}

return [
    '$_GET' => [function () { $_GET['SECRET'] = 'of-one'; }, fn () => $_GET['SECRET'] ?? null],
    '$_POST' => [function () { $_POST['SECRET'] = 'of-one'; }, fn () => $_POST['SECRET'] ?? null],
    '$_COOKIE' => [function () { $_COOKIE['SECRET'] = 'of-one'; }, fn () => $_COOKIE['SECRET'] ?? null],
    '$_REQUEST' => [function () { $_REQUEST['SECRET'] = 'of-one'; }, fn () => $_REQUEST['SECRET'] ?? null],
    '$_FILES' => [function () { $_FILES['SECRET'] = 'of-one'; }, fn () => $_FILES['SECRET'] ?? null],
    '$_SERVER' => [function () { $_SERVER['SECRET'] = 'of-one'; }, fn () => $_SERVER['SECRET'] ?? null],
    '$_SESSION' => [function () { $_SESSION['SECRET'] = 'of-one'; }, fn () => $_SESSION['SECRET'] ?? null],
    'HTTP status' => [fn () => http_response_code(418), fn () => http_response_code()],
    'cookies' => [fn () => setcookie('secret', 'of-one'), fn () => preg_grep('/secret/', headers_list()) !== []],
    'exception handler' => [
        fn () => set_exception_handler(fn () => 1),
        function () { $handler = set_exception_handler(null); restore_exception_handler(); return $handler !== null; },
    ],
    'error_reporting()' => [fn () => error_reporting(E_PARSE), fn () => error_reporting()],
    'set_include_path()' => [fn () => set_include_path('/secret'), fn () => get_include_path() === '/secret'],
    'set_time_limit()' => [fn () => set_time_limit(77), fn () => ini_get('max_execution_time') === '77'],
    'ignore_user_abort()' => [fn () => ignore_user_abort(true), fn () => ignore_user_abort()],
    'ini_set() of every setting' => [
        fn () => array_map(set_to_another(...), settings()),
        fn () => array_combine(settings(), array_map(ini_get(...), settings())),
    ],
    'ini_restore()' => [
        function () { ini_set('precision', '3'); ini_set('user_agent', 'x'); ini_restore('user_agent'); },
        fn () => [ini_get('precision') === '3', (string) (1 / 3)],
    ],
    'memory_limit' => [fn () => ini_set('memory_limit', '333M'), fn () => ini_get('memory_limit') === '333M'],
    'open_basedir' => [fn () => ini_set('open_basedir', '/tmp'), fn () => [@is_readable('/etc/passwd'), ini_get('open_basedir') === '/tmp']],
    'error_log' => [fn () => ini_set('error_log', '/dev/null'), fn () => ini_get('error_log') === '/dev/null'],
    'the collector' => [fn () => gc_disable(), fn () => gc_enabled()],
    'strtok()' => [fn () => strtok('a a a a a a a a', ' '), fn () => strtok(' ')],
    'assert_options()' => [
        function () { @assert_options(ASSERT_BAIL, 1); @assert_options(ASSERT_WARNING, 0); },
        fn () => [@assert_options(ASSERT_BAIL), @assert_options(ASSERT_WARNING)],
    ],
    'notification of the default stream context' => [
        fn () => stream_context_set_params(stream_context_get_default(), ['notification' => fn () => 1]),
        fn () => isset(stream_context_get_params(stream_context_get_default())['notification']),
    ],
    'stream_wrapper_restore()' => [
        function () { stream_wrapper_unregister('data'); @stream_wrapper_restore('data'); stream_wrapper_unregister('glob'); },
        fn () => [in_array('data', stream_get_wrappers(), true), in_array('glob', stream_get_wrappers(), true)],
    ],
    'a wrapper in place of files' => [
        function () { stream_wrapper_unregister('php'); stream_wrapper_register('php', ProbeWrapper::class); },
        fn () => file_get_contents('php://memory'),
    ],
    'session settings' => [
        function () {
            session_name('SECRET'); session_save_path('/nowhere'); session_cache_limiter('public'); session_cache_expire(7);
            session_set_cookie_params(['path' => '/secret', 'lifetime' => 77, 'samesite' => 'Strict', 'httponly' => true]);
        },
        fn () => [session_name(), session_save_path(), session_cache_limiter(), session_cache_expire(), session_get_cookie_params()],
    ],
    'session id' => [fn () => session_id('secret'), fn () => session_id()],
    'session handler' => [
        fn () => session_set_save_handler(new SessionHandler()),
        fn () => session_module_name(),
    ],
    'an open session' => [
        function () {
            session_id('probe' . getmypid() . 'x' . hrtime(true));
            session_start(['use_cookies' => 0, 'cache_limiter' => '', 'save_path' => sys_get_temp_dir()]);
            $_SESSION['SECRET'] = 'of-one';
        },
        fn () => [session_status(), session_id() === '', $_SESSION['SECRET'] ?? null, @session_encode()],
    ],
];
