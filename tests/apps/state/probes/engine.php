<?php
// State that PHP keeps between two lines of code, a probe for each kind: `set` changes it, `see` looks. What `see` gives before
// any request has set anything is what every request must see, and what `set` made is its own request's alone.

function xml_messages(): array
{
    return [libxml_use_internal_errors(), array_map(fn ($e) => trim($e->message), libxml_get_errors()), libxml_get_last_error() ? 'an error' : null];
}

function rewritten(): string
{
    return implode(',', ob_list_handlers());
}

return [
    'tick functions' => [
        function () { register_tick_function('tick_of_probe'); $GLOBALS['ticked'] = 0; },
        function () { $before = $GLOBALS['ticked'] ?? 0; declare(ticks=1) { $a = 1; $a = 2; } $after = $GLOBALS['ticked'] ?? 0; $GLOBALS['ticked'] = 0; return $after > $before; },
    ],
    'libxml errors' => [
        function () { libxml_use_internal_errors(true); @simplexml_load_string('<a'); },
        xml_messages(...),
    ],
    'libxml entity loader' => [
        fn () => libxml_set_external_entity_loader(fn () => null),
        fn () => libxml_get_external_entity_loader() === null,
    ],
    'mysqli report mode' => [
        fn () => mysqli_report(MYSQLI_REPORT_OFF),
        fn () => (new mysqli_driver)->report_mode,
    ],
    'mysqli connect error' => [
        function () { try { @new mysqli('127.0.0.1', 'nobody', '', '', 1); } catch (mysqli_sql_exception) {} },
        fn () => [mysqli_connect_errno(), mysqli_connect_error()],
    ],
    'URL rewriter' => [
        fn () => output_add_rewrite_var('secret', 'of-one'),
        rewritten(...),
    ],
    'default stream context' => [
        fn () => stream_context_set_default(['http' => ['header' => 'Authorization: Basic secret']]),
        fn () => stream_context_get_options(stream_context_get_default()),
    ],
    'stream wrappers' => [
        fn () => stream_wrapper_register('probe', ProbeWrapper::class),
        fn () => [in_array('probe', stream_get_wrappers(), true), in_array('booted', stream_get_wrappers(), true)],
    ],
    'a wrapper of the entry script that is gone' => [
        fn () => stream_wrapper_unregister('booted'),
        fn () => in_array('booted', stream_get_wrappers(), true) ? file_get_contents('booted://file') : false,
    ],
    'a wrapper that is gone' => [
        fn () => stream_wrapper_unregister('http'),
        fn () => in_array('http', stream_get_wrappers(), true),
    ],
    'stream filters' => [
        fn () => stream_filter_register('probe.filter', ProbeFilter::class),
        fn () => [in_array('probe.filter', stream_get_filters(), true), in_array('booted.filter', stream_get_filters(), true)],
    ],
    'autoload suffixes' => [fn () => spl_autoload_extensions('.secret'), fn () => spl_autoload_extensions()],
    'environment variable' => [
        function () { $_ENV['SECRET'] = 'of-one'; },
        fn () => [$_ENV['SECRET'] ?? null, $_ENV['BOOTED'] ?? null],
    ],
    'environment variable by reference' => [
        function () { $GLOBALS['reference'] = &$_ENV['BOOTED']; $GLOBALS['reference'] = 'of-one'; },
        fn () => $_ENV['BOOTED'] ?? null,
    ],
    'environment taken away' => [
        function () { unset($GLOBALS['_ENV']['BOOTED']); },
        fn () => $_ENV['BOOTED'] ?? null,
    ],
    'assert callback' => [
        fn () => @assert_options(ASSERT_CALLBACK, fn () => null),
        fn () => is_object(@assert_options(ASSERT_CALLBACK)),
    ],
    'last directory' => [
        function () { $GLOBALS['kept'] = opendir('/'); },
        function () { try { return is_string(@readdir()); } catch (TypeError) { return 'no directory'; } },
    ],
    'text domain' => [
        fn () => textdomain('probe'),
        fn () => textdomain(null),
    ],
    'JSON error' => [fn () => json_decode('{'), fn () => [json_last_error(), json_last_error_msg()]],
    'PCRE error' => [fn () => @preg_match('/(?:\D+|<\d+>)*[!?]/', 'foobar foobar foobar'), fn () => preg_last_error()],
    'POSIX error' => [fn () => @posix_kill(999999999, 0), fn () => posix_get_last_error()],
    'socket error' => [
        function () { $GLOBALS['socket'] = socket_create(AF_INET, SOCK_STREAM, SOL_TCP); @socket_connect($GLOBALS['socket'], '127.0.0.1', 1); },
        fn () => socket_last_error(),
    ],
    'OpenSSL errors' => [
        fn () => @openssl_pkey_get_private('no key'),
        function () { $all = []; while ($e = openssl_error_string()) { $all[] = $e; } if ($all) { @openssl_pkey_get_private('no key'); } return $all !== []; },
    ],
    'intl error' => [fn () => @IntlDateFormatter::create('en', 99, 99), fn () => intl_get_error_code()],
    'date errors' => [fn () => date_create('no date at all'), fn () => date_get_last_errors()],
    'time zone' => [fn () => date_default_timezone_set('Asia/Tokyo'), fn () => date_default_timezone_get()],
    'mbstring' => [
        function () {
            mb_internal_encoding('SJIS'); mb_substitute_character(0x3f3f); mb_language('ja'); mb_http_output('SJIS');
            mb_detect_order(['ASCII', 'SJIS']); mb_regex_encoding('SJIS');
        },
        fn () => [mb_internal_encoding(), mb_substitute_character(), mb_language(), mb_http_output(), mb_detect_order(), mb_regex_encoding(), mb_strlen('é')],
    ],
    'mbstring search' => [
        fn () => mb_ereg_search_init('a secret text', 'secret') && mb_ereg_search(),
        function () { try { return @mb_ereg_search_getregs(); } catch (Error $e) { return $e->getMessage(); } },
    ],
    'ini settings' => [
        function () { ini_set('precision', '3'); ini_set('include_path', '/nowhere'); ini_set('user_agent', 'secret'); ini_set('mbstring.language', 'ja'); },
        fn () => [ini_get('precision'), get_include_path(), ini_get('user_agent'), ini_get('mbstring.language'), 1 / 3],
    ],
    'a setting and a function' => [
        function () { ini_set('mbstring.internal_encoding', 'ISO-8859-1'); mb_internal_encoding('UTF-8'); ini_set('precision', '4'); },
        fn () => [mb_internal_encoding(), ini_get('mbstring.internal_encoding')],
    ],
    'a setting that was refused' => [
        function () { @ini_set('fiber.stack_size', '-1'); ini_set('user_agent', 'x'); },
        fn () => [ini_get('fiber.stack_size'), ini_get('user_agent'), (function () { $f = new Fiber(fn () => 1); $f->start(); return $f->getReturn(); })()],
    ],
    'error handler' => [fn () => set_error_handler(fn () => true), fn () => (function () { $h = set_error_handler(null); restore_error_handler(); return $h !== null; })()],
    'last error' => [fn () => @trigger_error('secret'), fn () => error_get_last()],
    'output buffers' => [fn () => ob_start(), fn () => ob_get_level()],
    'response headers' => [fn () => header('X-Secret: 1'), fn () => preg_grep('/secret/i', headers_list())],
    'stat cache' => [fn () => is_dir('/tmp'), fn () => is_dir('/tmp')],
];
