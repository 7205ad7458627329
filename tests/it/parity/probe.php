<?php

// Everything that PHP tells a script about its request, one fact a line: NAME = TYPE VALUE.

$early = error_get_last();
$sent = headers_sent();

function shown(string $text): string
{
    return addcslashes($text, "\0..\37\\\177..\377");
}

function show(string $name, mixed $value): void
{
    if (is_array($value)) {
        echo $name, ' keys = ', shown(implode(', ', array_keys($value))), "\n";
        foreach ($value as $key => $item) {
            show($name . '[' . shown((string) $key) . ']', $item);
        }

        return;
    }
    echo $name, ' = ', get_debug_type($value), ' ', shown(is_bool($value) ? var_export($value, true) : (string) $value), "\n";
}

header('Content-Type: text/plain');
header('X-Probe: yes');

// Not the process's environment, and not what is another number each time.
$server = array_filter($_SERVER, static fn ($name) => preg_match(
    '/^(HTTP_|HTTPS$|REQUEST_(?!TIME)|SERVER_|SCRIPT_|CONTENT_|REMOTE_(?!PORT)|PATH_|PHP_(?!INI_SCAN_DIR)|AUTH_|QUERY_|DOCUMENT_|GATEWAY_|REDIRECT_|ORIG_|CONTEXT_|arg[cv]$)/',
    $name,
), ARRAY_FILTER_USE_KEY);
ksort($server);
foreach ($server as $name => $value) {
    show($name, $value);
}
show('REMOTE_PORT', isset($_SERVER['REMOTE_PORT']) && (int) $_SERVER['REMOTE_PORT'] > 0);
show('REQUEST_TIME', is_int($_SERVER['REQUEST_TIME'] ?? null) && abs(time() - $_SERVER['REQUEST_TIME']) < 10);
show('REQUEST_TIME_FLOAT', is_float($_SERVER['REQUEST_TIME_FLOAT'] ?? null));

$files = $_FILES;
array_walk_recursive($files, static function (&$value, $key) {
    if (is_string($value) && str_contains($value, '/php')) {
        $value = is_uploaded_file($value) ? 'uploaded, md5 ' . md5_file($value) : $value;
    }
});
foreach (['_GET' => $_GET, '_POST' => $_POST, '_COOKIE' => $_COOKIE, '_REQUEST' => $_REQUEST, '_FILES' => $files] as $name => $value) {
    show($name, $value);
}

$input = file_get_contents('php://input');
show('php://input', strlen($input) . ' bytes, md5 ' . md5($input));
show('php://input again', md5(file_get_contents('php://input')) === md5($input));

$headers = getallheaders();
ksort($headers);
show('getallheaders()', $headers);
$headers = apache_request_headers();
ksort($headers);
show('apache_request_headers()', $headers);

show('filter_input(GET)', filter_input(INPUT_GET, 'a'));
show('filter_input(POST)', filter_input(INPUT_POST, 'a'));
show('filter_input(COOKIE)', filter_input(INPUT_COOKIE, 'a'));
show('filter_input(SERVER)', filter_input(INPUT_SERVER, 'REQUEST_METHOD'));
show('filter_input_array(GET)', filter_input_array(INPUT_GET));
show('filter_has_var(POST)', filter_has_var(INPUT_POST, 'a'));
show('getenv', getenv('REQUEST_METHOD') . ' ' . getenv('QUERY_STRING'));
show('http_response_code()', http_response_code());
show('connection_status()', connection_status());
show('connection_aborted()', connection_aborted());
show('ignore_user_abort()', ignore_user_abort());
show('headers_list()', headers_list());
show('headers_sent()', $sent);
show('error before', $early['message'] ?? null);
show('get_included_files()', array_map(basename(...), get_included_files()));
show('getcwd()', getcwd() === __DIR__);
show('__FILE__', basename(__FILE__));
show('ob_get_level()', ob_get_level());
show('max_execution_time', ini_get('max_execution_time'));
