<?php

// A worker script as FrankenPHP's documentation shows it; nothing in it knows Hearth.

$bootServer = $_SERVER;

final class Counter
{
    public static int $requests = 0;
}

function greet(string $name): string
{
    return "hello $name";
}

// Only for the script itself, never for a request.
set_exception_handler(static fn (Throwable $e) => error_log("the script's handler: {$e->getMessage()}"));

$handler = static function () use ($bootServer): void {
    Counter::$requests++;
    switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        case '/':
            echo greet($_GET['name'] ?? 'world');

            return;
        case '/count':
            echo Counter::$requests;

            return;
        case '/pid':
            echo getmypid();

            return;
        case '/json':
            header('Content-Type: application/json');
            echo json_encode(['get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'body' => file_get_contents('php://input')]);

            return;
        case '/server':
            echo json_encode([
                $_SERVER['SCRIPT_NAME'], basename($_SERVER['SCRIPT_FILENAME']), $_SERVER['FRANKENPHP_WORKER'], $_SERVER['REQUEST_METHOD'],
                $bootServer['SCRIPT_NAME'], $bootServer['FRANKENPHP_WORKER'], $bootServer['REQUEST_METHOD'] ?? 'none',
            ]);

            return;
        case '/path':
        case '/worker.php/path':
            echo json_encode([$_SERVER['PATH_INFO'], $_SERVER['PHP_SELF'], $_SERVER['DOCUMENT_URI']]);

            return;
        case '/headers':
            header('X-Answer: 42');
            echo json_encode([
                getallheaders()['X-Question'] ?? null, apache_request_headers()['X-Question'] ?? null,
                frankenphp_request_headers()['X-Question'] ?? null, frankenphp_response_headers()['X-Answer'] ?? null,
            ]);

            return;
        case '/upload':
            $moved = sys_get_temp_dir() . '/moved-' . getmypid();
            move_uploaded_file($_FILES['file']['tmp_name'], $moved);
            echo json_encode([$_FILES['file']['name'], $_FILES['file']['size'], file_get_contents($moved)]);
            unlink($moved);

            return;
        case '/login':
            session_start();
            session_regenerate_id(true);
            $_SESSION['user'] = $_POST['name'];
            header('Location: /me', true, 303);

            return;
        case '/me':
            session_start();
            echo $_SESSION['user'] ?? 'guest';

            return;
        case '/throw':
            echo 'half of ';
            throw new RuntimeException('thrown on purpose');
        case '/exit':
            echo 'and out';
            exit(1);
        case '/404':
            http_response_code(404);
            echo 'nothing here';

            return;
        case '/stream':
            header('Content-Type: text/plain');
            foreach (['one', 'two', 'three'] as $piece) {
                echo "$piece\n";
                flush();
            }

            return;
        case '/finish':
            echo 'answered';
            frankenphp_finish_request();
            echo ' and lost';
            usleep(200_000);
            error_log('the work after the answer is done');

            return;
        case '/fiber':
            $fiber = new Fiber(static function (): void {
                usleep(1000);
                echo Fiber::suspend('first ');
            });
            echo $fiber->start();
            $fiber->resume('second');

            return;
        case '/nested':
            try {
                frankenphp_handle_request(static fn () => null);
            } catch (RuntimeException $e) {
                echo $e->getMessage();
            }

            return;
        case '/mutate':
            ob_start();
            ini_set('precision', '3');
            date_default_timezone_set('Asia/Tokyo');
            set_error_handler(static fn () => true);
            putenv('LEAK=1');
            $_ENV['LEAK'] = $_SERVER['LEAK'] = $_GET['LEAK'] = '1';
            header('X-Leak: 1');
            chdir('/');
            umask(0o77);
            setlocale(LC_ALL, 'C.UTF-8');
            mb_internal_encoding('ISO-8859-1');
            mb_substitute_character(0x3f);
            libxml_use_internal_errors(true);
            echo 'changed';

            return;
        case '/state':
            $handler = set_error_handler(null);
            echo json_encode([
                ini_get('precision'), date_default_timezone_get(), $handler === null, getenv('LEAK'), $_ENV['LEAK'] ?? null, $_SERVER['LEAK'] ?? null,
                $_GET['LEAK'] ?? null, headers_list(), ob_get_level(), getcwd() === '/', umask() === 0o77, setlocale(LC_ALL, '0') === 'C.UTF-8',
                mb_internal_encoding(), libxml_use_internal_errors(), error_get_last(),
            ]);

            return;
        case '/memory':
            echo gc_collect_cycles() . ' ' . memory_get_usage();

            return;
        case '/fatal':
            eval('function strlen() {}');
    }
    http_response_code(404);
};

$maxRequests = (int) ($_SERVER['MAX_REQUESTS'] ?? 0);
for ($requests = 0; !$maxRequests || $requests < $maxRequests; ++$requests) {
    $keepRunning = frankenphp_handle_request($handler);
    if (getenv('LOG_AFTER')) {
        error_log("after {$_SERVER['REQUEST_URI']}");
    }
    if (!$keepRunning) {
        break;
    }
}
error_log("last lines after $requests requests");
