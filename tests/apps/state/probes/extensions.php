<?php
// State of extensions, where they are loaded.

/** The numbers that gmp_random_bits() draws after its seed. */
final class ProbeNumbers
{
    /** @var list<string> */
    public static array $drawn = [];
}

/** What the library keeps for each thread, and few functions of PHP leave filled. */
final class OpenSslQueue
{
    public static function library(): FFI
    {
        return FFI::cdef('void ERR_new(void); void ERR_set_error(int, int, const char *, ...); unsigned long ERR_peek_error(void);');
    }

    public static function fill(): void
    {
        self::library()->ERR_new();
        self::library()->ERR_set_error(9, 108, null);
    }
}

$of = [
    'bcmath' => fn () => ['bcscale()' => [fn () => bcscale(7), fn () => [bcscale(), bcdiv('1', '3')]]],
    'gmp' => fn () => ['gmp_random_seed()' => [
        function () {
            gmp_random_seed(20240);
            ProbeNumbers::$drawn = array_map(fn () => gmp_strval(gmp_random_bits(64)), range(1, 100));
            gmp_random_seed(20240);
        },
        fn () => in_array(gmp_strval(gmp_random_bits(64)), ProbeNumbers::$drawn, true),
    ]],
    'iconv' => fn () => ['iconv_set_encoding()' => [
        function () { @iconv_set_encoding('internal_encoding', 'ISO-8859-1'); @iconv_set_encoding('output_encoding', 'ISO-8859-2'); },
        fn () => [@iconv_get_encoding(), iconv_strlen("\xc3\xa9")],
    ]],
    'intl' => fn () => [
        'Locale::setDefault()' => [
            fn () => Locale::setDefault('de_DE'),
            fn () => [Locale::getDefault(), (new NumberFormatter(null ?? Locale::getDefault(), NumberFormatter::DECIMAL))->format(1234.5)],
        ],
        'error of an intl object' => [fn () => @grapheme_substr("\xff", 0, 1), fn () => [intl_get_error_code(), intl_get_error_message()]],
    ],
    'json' => fn () => ['json_encode() error' => [fn () => json_encode("\xff"), fn () => [json_last_error(), json_last_error_msg()]]],
    'libxml' => fn () => ['libxml_disable_entity_loader()' => [
        fn () => @libxml_disable_entity_loader(true),
        function () { $was = @libxml_disable_entity_loader(false); @libxml_disable_entity_loader($was); return $was; },
    ]],
    'dom' => fn () => ['errors of DOM' => [
        function () { libxml_use_internal_errors(true); (new DOMDocument())->loadHTML('<nonsense><p></b>'); },
        fn () => [libxml_use_internal_errors(), count(libxml_get_errors()) > 0],
    ]],
    'mbstring' => fn () => [
        'mb_regex_set_options()' => [fn () => mb_regex_set_options('ixj'), fn () => mb_regex_set_options()],
        'mb_substitute_character()' => [fn () => mb_substitute_character('long'), fn () => [mb_substitute_character(), mb_convert_encoding("\xc3\xa9", 'ASCII', 'UTF-8')]],
        'mb_detect_order()' => [fn () => mb_detect_order(['UTF-16', 'EUC-JP', 'UTF-8']), fn () => mb_detect_order()],
        'mb_ereg pattern' => [fn () => mb_ereg_search_init('a secret text', 'e') && mb_ereg_search_setpos(5), function () { try { return mb_ereg_search_getpos(); } catch (Error) { return 'none'; } }],
    ],
    'pcntl' => fn () => ['pcntl error' => [fn () => @pcntl_setpriority(0, 999999999), fn () => pcntl_get_last_error()]],
    'openssl' => fn () => ['errors of OpenSSL' => [
        fn () => @openssl_x509_read('nothing'),
        function () { $error = openssl_error_string(); if ($error) { @openssl_x509_read('nothing'); } while ($error && openssl_error_string()) { } if ($error) { @openssl_x509_read('nothing'); } return $error !== false; },
    ]] + (!extension_loaded('FFI') || ini_get('ffi.enable') !== '1' ? [] : ['errors of OpenSSL that PHP has not read' => [
        OpenSslQueue::fill(...),
        fn () => OpenSslQueue::library()->ERR_peek_error(),
    ]]),
    'sockets' => fn () => ['socket_last_error()' => [fn () => @socket_create(AF_INET, SOCK_STREAM, 99), fn () => socket_last_error()]],
    'soap' => fn () => ['use_soap_error_handler()' => [
        fn () => use_soap_error_handler(true),
        function () { $was = use_soap_error_handler(false); use_soap_error_handler($was); return $was; },
    ]],
    'snmp' => fn () => ['snmp_set_valueretrieval()' => [fn () => snmp_set_valueretrieval(SNMP_VALUE_PLAIN), fn () => snmp_get_valueretrieval()]],
    'stomp' => fn () => ['stomp_connect_error()' => [function () { try { @stomp_connect('tcp://127.0.0.1:1'); } catch (Exception) { } }, fn () => stomp_connect_error()]],
    'libvirt' => fn () => ['libvirt_get_last_error()' => [fn () => @libvirt_connect('nope:///x'), fn () => libvirt_get_last_error()]],
];

return array_merge(...array_values(array_map(
    static fn (string $extension, Closure $probes): array => extension_loaded($extension) ? $probes() : [],
    array_keys($of),
    $of,
)));
