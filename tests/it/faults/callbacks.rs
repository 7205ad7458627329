//! PHP code that C code calls in the middle of a list or a stream: it begins others there, or breaks, and they go on.

use std::net::TcpListener;

use testkit::Server;

use super::engine_calls::assert_answers;
use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, until_handled};

const APP: &str = r#"
final class Calls extends php_user_filter {
    public function filter($in, $out, &$consumed, bool $closing): int {
        ($this->params)();
        while ($bucket = stream_bucket_make_writeable($in)) { $consumed += $bucket->datalen; stream_bucket_append($out, $bucket); }
        return PSFS_PASS_ON;
    }
}
final class Replaces {
    public function __invoke(): void {}
    public function __destruct() { header_register_callback(fn () => http_response_code(202)); }
}
stream_filter_register('calls', Calls::class);
function filtered(Closure $fn) {
    $stream = fopen('php://memory', 'w+');
    stream_filter_append($stream, 'calls', STREAM_FILTER_WRITE, $fn);
    fwrite($stream, 'text');
}
return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/ticks':
            // What runs on top is of another request. It takes memory as large as an entry of the engine's list.
            $started = 0;
            $tick = function () use (&$started) {
                $started++;
                Hearth\background(function () { for ($n = 0; $n < 50; $n++) { putenv("TICKS_$n=a text of some length"); } });
            };
            register_tick_function($tick);
            declare(ticks=1) { $a = 1; $b = 2; $c = 3; }
            if ($request->query('leave') === null) { unregister_tick_function($tick); }
            return "$started started";
        case '/no-ticks': declare(ticks=1) { $a = 1; } return 'none';
        case '/head':
            echo 'before ';
            header_register_callback(function () {
                Hearth\async(function () { usleep(500); echo str_repeat('x', 9000); })->await();
                http_response_code(201);
            });
            return null;
        case '/echo-late':
            echo 'before ';
            header_register_callback(function () { echo str_repeat('y', 20000); });
            return ' returned';
        case '/echo-again':
            echo 'before ';
            header_register_callback(fn () => header_register_callback(function () { echo str_repeat('y', 20000); }));
            return null;
        case '/replace-late':
            header_register_callback(fn () => header_register_callback(fn () => http_response_code(201)));
            echo 'text';
            flush();
            header_register_callback(fn () => http_response_code(202));
            $objects = array_map(fn ($n) => fn () => $n, range(0, 9));
            return null;
        case '/replace-again':
            header_register_callback(new Replaces());
            header_register_callback(fn () => http_response_code(203));
            $objects = array_map(fn ($n) => fn () => $n, range(0, 9));
            return 'text';
        case '/flood-late':
            header_register_callback(function () { echo str_repeat('y', 70000); });
            return ' returned';
        case '/status-late':
            header_register_callback(function () { http_response_code(202); header('X-Late: yes'); });
            return 'text';
        case '/take':
            $response = new Hearth\Response(str_repeat('old', 500), 200, ['X-Old' => str_repeat('o', 200)]);
            header_register_callback(Closure::bind(function () {
                $this->headers = ['X-New' => [str_repeat('n', 200)]];
                $this->body = str_repeat('new', 500);
                $this->status = 203;
            }, $response, Hearth\Response::class));
            return $response;
        case '/break-in-fiber':
            (new Fiber(fn () => filtered(function () { usleep(1000); trigger_error('in a filter', E_USER_ERROR); })))->start();
            return 'not reached';
        case '/break': filtered(function () { usleep(1000); trigger_error('in a filter', E_USER_ERROR); }); return 'not reached';
        case '/buffer-in-callback':
            register_shutdown_function(function () { ob_start(); echo 'lost'; ob_end_clean(); });
            ob_start(function (string $text) { ob_start(); return $text; });
            echo 'text';
            ob_end_flush();
            return 'not reached';
        case '/slow': UNTIL_GO return 'slow done';
        default: filtered(fn () => usleep(1000)); return 'fine';
    }
};
"#;

fn app() -> Server {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO)).start()
}

#[test]
fn a_tick_function_may_begin_background_work() {
    let server = app();
    let worker = server.workers();
    for target in ["/ticks", "/ticks?leave", "/ticks", "/ticks?leave"] {
        assert_eq!(ok(&server.get(target)), "3 started", "{target}");
        assert_eq!(ok(&server.get("/no-ticks")), "none", "after {target}");
    }
    assert_eq!(server.workers(), worker, "the worker was replaced");
    server.stop();
}

/// The callback is called when the head is due; what was echoed is sent as it is then.
#[test]
fn a_header_callback_may_wait_while_a_task_echoes() {
    let server = app();
    for _ in 0..3 {
        let answer = server.get("/head");
        assert_eq!(answer.status, 201);
        assert_eq!(answer.text(), format!("before {}", "x".repeat(9000)));
    }
    server.stop();
}

/// PHP freed the one that is replaced twice: after the head was sent, and where a destructor replaces it again.
#[test]
fn a_header_callback_that_is_replaced_is_freed_once() {
    let server = app();
    let worker = server.workers();
    for _ in 0..20 {
        assert_eq!(server.get("/replace-late").status, 200);
        assert_eq!(server.get("/replace-again").status, 202);
    }
    assert_eq!(server.workers(), worker, "the worker was replaced");
    server.stop();
}

/// What is sent is what there is after the callback.
#[test]
fn a_header_callback_may_change_what_is_sent() {
    let app = APP.replace("UNTIL_GO", UNTIL_GO);
    let server = one_worker(&app).args(["--ini", "display_errors=1"]).start();
    for _ in 0..3 {
        let late = "y".repeat(20_000);
        assert_eq!(
            ok(&server.get("/echo-late")),
            format!("before {late} returned")
        );
        assert_eq!(ok(&server.get("/echo-again")), "before ");
        assert_eq!(
            ok(&server.get("/flood-late")),
            "y".repeat(70_000) + " returned"
        );
        let answer = server.get("/status-late");
        assert_eq!((answer.status, answer.text().as_str()), (202, "text"));
        assert_eq!(answer.header("x-late"), Some("yes"));
        let answer = server.get("/take");
        assert_eq!((answer.status, answer.text()), (203, "new".repeat(500)));
        assert_eq!(answer.header("x-new"), Some("n".repeat(200).as_str()));
        assert_eq!(answer.header("x-old"), None);
    }
    server.stop();
}

/// The engine frees the stack of buffers before it raises this error.
#[test]
fn a_shutdown_function_may_begin_a_buffer_after_an_output_callback_did() {
    let server = app();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/buffer-in-callback").status, 500);
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow done");
    assert_eq!(ok(&server.get("/")), "fine");
    server.stop();
}

/// What its call had in use is forgotten with it: the stack on which it was, a Fiber's, is no more.
#[test]
fn a_fatal_error_in_a_call_that_nests_ends_one_request() {
    for path in ["/break", "/break-in-fiber"] {
        let server = app();
        let mut slow = server.connect();
        slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        assert_eq!(server.get(path).status, 500, "{path}");
        let_go(&server);
        assert_eq!(ok(&slow.response()), "slow done", "{path}");
        assert_eq!(ok(&server.get("/")), "fine", "{path}");
        server.stop();
    }
}

/// The buffer ends with its task, and the Fiber would go on in a callback of what is freed.
#[test]
fn a_fiber_is_not_suspended_in_an_output_callback() {
    let server = one_worker(
        r#"function fiber($inside) {
            $fiber = new Fiber(function () use ($inside) {
                ob_start(function ($text) use ($inside) { $inside(); return $text; });
                echo 'text';
                try { ob_end_flush(); } catch (FiberError $e) { error_log('refused: ' . $e->getMessage()); }
                Fiber::suspend();
            });
            $fiber->start();
            return $fiber;
        }
        return function ($request) {
            $inside = match ($request->path) {
                '/suspends' => fn () => Fiber::suspend(),
                '/has-a-fiber' => function () { $inner = new Fiber(fn () => Fiber::suspend()); $inner->start(); $inner->resume(); },
                '/waits' => fn () => usleep(1000),
            };
            $fiber = Hearth\async(fn () => fiber($inside))->await();
            for ($n = 0; $n < 50; $n++) { ob_start(fn ($text) => $text); ob_end_clean(); }
            $fiber->resume();
            return 'went on';
        };"#,
    )
    .start();
    for (path, refused) in [("/has-a-fiber", 0), ("/waits", 0), ("/suspends", 1)] {
        assert_eq!(ok(&server.get(path)), "went on", "{path}");
        eventually("what was refused is logged", || {
            server.log().text().matches("refused: ").count() == refused
        });
    }
    server.stop();
}

/// curl goes on after its callback has thrown, and waits until its time limit. Every change of requests follows the directory of one of them.
#[test]
fn an_exception_in_flight_stays_with_its_task() {
    // It accepts no connection, so no answer comes.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = silent.local_addr().expect("it has an address");
    let server = one_worker(
        r"return function (Hearth\Request $request): string {
            if ($request->query('chdir') !== null) { chdir('/'); }
            if ($request->path === '/other') {
                for ($n = 0; $n < 20; $n++) { $made[] = new RuntimeException('of another request'); usleep(10000); }
                return 'made';
            }
            $curl = curl_init('http://' . getenv('SILENT'));
            curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_UPLOAD => true, CURLOPT_INFILESIZE => 10,
                CURLOPT_CUSTOMREQUEST => 'POST', CURLOPT_TIMEOUT_MS => 150, CURLOPT_HTTPHEADER => ['Expect:'],
                CURLOPT_READFUNCTION => fn () => throw new RuntimeException('of the callback')]);
            try {
                curl_exec($curl);
            } catch (RuntimeException $e) {
                return $e->getMessage();
            }
            return 'nothing was thrown';
        };",
    )
    .env("SILENT", address.to_string());
    let own = "of the callback";
    let paths = ["/own?chdir", "/other", "/own", "/other?chdir"];
    assert_answers(server, &paths, &[own, "made", own, "made"]);
}
