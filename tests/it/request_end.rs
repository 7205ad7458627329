//! The end of a request: all that it started ends with it, and the next one finds nothing of it.

use testkit::Server;

use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, one_worker, until_handled};

/// An app whose requests share a `Hearth\Local`. What `/look` finds in it is another request's.
fn app(code: &str) -> testkit::ServerBuilder {
    one_worker(&format!(
        r"$local = new Hearth\Local();
        $mark = fn (string $text) => file_put_contents(__DIR__ . '/mark', $text . PHP_EOL, FILE_APPEND);
        return function (Hearth\Request $request) use ($local, $mark) {{
            if ($request->path === '/look') {{ return json_encode($local->get()); }}
            $local->set('handler');
            {code}
        }};"
    ))
}

#[track_caller]
fn expect_mark(server: &Server, text: &str) {
    let file = server.directory().join("mark");
    let mut found = String::new();
    eventually("the mark is complete", || {
        found = std::fs::read_to_string(&file).unwrap_or_default();
        found.lines().count() >= text.lines().count()
    });
    assert_eq!(found.trim_end(), text);
}

/// What was started last saw its request's value, and the next request does not.
#[track_caller]
fn ends_clean(builder: testkit::ServerBuilder, mark: &str) {
    let server = builder.start();
    for _ in 0..3 {
        let _ = server.get("/").text();
        expect_mark(&server, mark);
        assert_eq!(ok(&server.get("/look")), "null");
        std::fs::remove_file(server.directory().join("mark")).expect("the mark");
    }
    server.stop();
}

/// PHP's own loop over them ends in a crash of `php` here.
#[test]
fn a_shutdown_function_may_register_others_by_name() {
    let code = r"
        class Handler implements SessionHandlerInterface {
            function open(string $p, string $n): bool { return true; } function close(): bool { return true; }
            function read(string $i): string { return ''; } function write(string $i, string $d): bool { return true; }
            function destroy(string $i): bool { return true; } function gc(int $s): int { return 1; }
        }
        function registers(): void {
            register_shutdown_function(function () {
                session_set_save_handler(new Handler(), true);
                foreach (range(1, 6) as $n) { register_shutdown_function(function () use ($n) { echo $n; }); }
            });
        }";
    let resident = one_worker(&format!("{code} return function () {{ registers(); }};"));
    let classic = Server::app(".").file("index.php", format!("<?php {code} registers();"));
    for builder in [resident, classic] {
        let server = builder.start();
        assert_eq!(ok(&server.get("/")), "123456");
        server.stop();
    }
    let script = std::process::Command::new(testkit::hearth())
        .args(["run", "-r", &format!("{code} registers();")])
        .output()
        .expect("hearth starts");
    assert_eq!(
        String::from_utf8_lossy(&script.stdout),
        "123456",
        "{script:?}"
    );
}

#[test]
fn a_child_that_a_deferred_function_starts_ends_with_its_request() {
    ends_clean(
        app(r"Hearth\defer(function () use ($local, $mark) {
                Hearth\async(function () use ($local, $mark) {
                    usleep(50000);
                    $mark((string) $local->get());
                    $local->set('child');
                    Hearth\defer(function () use ($local, $mark) { $mark($local->get() . ', deferred'); $local->set('deferred'); });
                });
            });
            return 'done';"),
        "handler\nchild, deferred",
    );
}

#[test]
fn a_child_that_is_cancelled_at_the_time_limit_ends_with_its_request() {
    ends_clean(
        app(r"return (function () use ($local, $mark) {
                Hearth\async(function () use ($local, $mark) {
                    try { sleep(20); } finally { usleep(50000); $mark((string) $local->get()); $local->set('child'); }
                });
                yield 'streamed';
            })();")
        .args(["--request-timeout", "0.2"]),
        "handler",
    );
}

#[test]
fn a_callback_of_the_end_of_a_task_runs_in_its_request() {
    ends_clean(
        app(
            r"Hearth\Internal\onTaskEnd(Hearth\Internal\taskId(), function () use ($local, $mark) {
                $mark((string) $local->get());
                $local->set('callback');
                Hearth\async(function () use ($local, $mark) { usleep(1000); $mark($local->get() . ', child'); $local->set('child'); });
            });
            return 'done';",
        ),
        "handler\ncallback, child",
    );
}

#[test]
fn a_destructor_at_the_end_leaves_nothing_to_the_next_request() {
    ends_clean(
        app(r"$_GET['object'] = new class($local, $mark) {
                public function __construct(private $local, private $mark) {}
                public function __destruct() {
                    $this->local->set('destructor');
                    ini_set('user_agent', 'destructor');
                    Hearth\async(function ($local, $mark) { usleep(1000); $mark($local->get()); $local->set('child'); }, $this->local, $this->mark);
                }
            };
            return 'done';"),
        "destructor",
    );
}

#[test]
fn background_work_ends_with_what_it_started() {
    ends_clean(
        app(r"Hearth\background(function () use ($local, $mark) {
                $mark((string) $local->get());
                $local->set('background');
                Hearth\Internal\onTaskEnd(Hearth\Internal\taskId(), function () use ($local, $mark) { $mark($local->get() . ', callback'); $local->set('callback'); });
                Hearth\defer(fn () => Hearth\async(function () use ($local, $mark) { usleep(50000); $mark($local->get() . ', child'); $local->set('child'); }));
            });
            return 'done';"),
        "\nbackground, child\nchild, callback",
    );
}

/// The worker is broken and about to be replaced; what it still does must not get the request's values.
#[test]
fn the_state_of_a_request_that_a_fatal_error_ended_is_not_used_again() {
    let app = r"$local = new Hearth\Local();
        $mark = fn (string $text) => file_put_contents(__DIR__ . '/mark', $text);
        Hearth\every(0.01, function () use ($local, $mark) {
            static $calls = 0;
            $calls++;
            if ($local->get() !== null) { $mark('timer saw ' . $local->get()); }
        });
        return function (Hearth\Request $request) use ($local, $mark) {
            if ($request->path === '/slow') { UNTIL_GO usleep(200000); return (string) @file_get_contents(__DIR__ . '/mark'); }
            $local->set('a secret');
            $_GET['request'] = $request;
            Hearth\async(fn () => usleep(100000));
            return strlen(str_repeat('x', 1 << 30));
        };";
    let server = one_worker(&app.replace("UNTIL_GO", UNTIL_GO))
        .args(["--ini", "memory_limit=64M"])
        .start();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/").status, 500);
    let_go(&server);
    assert_eq!(ok(&slow.response()), "");
    assert!(!server.log().text().contains("died"), "a worker crashed");
    drop(slow);
    server.stop();
}

/// Bytes of the engine's memory that a number of requests of `path` leaves behind.
#[track_caller]
fn left_behind(server: &Server, path: &str, requests: usize) -> i64 {
    let mut client = server.connect();
    let mut usage = |path: &str, count: usize| -> i64 {
        for _ in 0..count {
            assert_eq!(ok(&client.get(path)), "ok");
        }
        let usage = ok(&client.get("/usage"));
        usage.parse().expect("a number")
    };
    let before = usage(path, 200);
    usage(path, requests) - before
}

#[test]
fn what_functions_keep_between_two_calls_ends_with_the_task() {
    let server = one_worker(
        r"strtok('left by boot', ' ');
        return function (Hearth\Request $request) {
            switch ($request->path) {
                case '/usage': return (string) memory_get_usage();
                case '/strtok': strtok(str_repeat('a word ', 150) . mt_rand(), ' '); return strtok(' ') === 'word' ? 'ok' : 'wrong';
                case '/child': return Hearth\async(function () { strtok(str_repeat('a word ', 150) . mt_rand(), ' '); usleep(1); return 'ok'; })->await();
                case '/fresh': return strtok(' ') === false ? 'ok' : 'another one\'s';
            }
        };",
    )
    .start();
    assert_eq!(ok(&server.get("/fresh")), "ok");
    for path in ["/strtok", "/child"] {
        let bytes = left_behind(&server, path, 1000);
        assert!(bytes < 50_000, "1000 of {path} left {bytes} bytes");
        assert_eq!(ok(&server.get("/fresh")), "ok");
    }
    server.stop();
}

#[test]
fn a_wrong_call_of_headers_leaves_nothing_behind() {
    let server = one_worker(
        r"return function (Hearth\Request $request) {
            if ($request->path === '/usage') { return (string) memory_get_usage(); }
            try { $request->headers('one too many'); } catch (ArgumentCountError) { return 'ok'; }
        };",
    )
    .start();
    let bytes = left_behind(&server, "/", 1000);
    assert!(bytes < 20_000, "1000 calls left {bytes} bytes");
    server.stop();
}

/// Destructors of what the end releases last, and of what a task was given, change what was released before.
#[test]
fn destructors_at_the_very_end_leave_no_memory_behind() {
    let server = one_worker(
        r"final class AtEnd {
            public function __construct(private Closure $code) {}
            public function __destruct() { ($this->code)(); }
            public function __invoke($text = '') { return $text; }
        }
        return function (Hearth\Request $request) {
            if ($request->path === '/usage') { return (string) memory_get_usage(); }
            [, $place, $what] = explode('/', $request->path);
            $end = new AtEnd(match ($what) {
                'input' => function () { $_GET['late'] = str_repeat('x', 1000); },
                'handler' => fn () => set_error_handler(fn () => true),
                'buffer' => fn () => ob_start(fn ($text) => $text),
                'shutdown' => fn () => register_shutdown_function(fn () => 1),
            });
            match ($place) {
                'assert' => @assert_options(ASSERT_CALLBACK, $end),
                'signal' => pcntl_signal(SIGUSR2, $end),
                'context' => stream_context_set_default(['http' => ['late' => $end]]),
                'handler' => set_error_handler($end),
                'callback' => header_register_callback($end),
                'shutdown' => register_shutdown_function($end),
                'task' => Hearth\async(function () use ($end) { usleep(1); }),
            };
            return 'ok';
        };",
    )
    .start();
    for place in [
        "assert", "signal", "context", "handler", "callback", "shutdown", "task",
    ] {
        for what in ["input", "handler", "buffer", "shutdown"] {
            let path = format!("/{place}/{what}");
            let bytes = left_behind(&server, &path, 50);
            assert!(bytes < 4_000, "50 of {path} left {bytes} bytes");
        }
    }
    server.stop();
}

/// The session is written after the request's tasks have ended. Their tick functions, for example, are released after that.
#[test]
fn a_task_that_the_session_starts_as_it_is_written_ends_before_the_request() {
    let server = one_worker(
        r"final class Kept {
            function __serialize(): array {
                Hearth\async(function () {
                    $waits = fn () => usleep(5000);
                    register_tick_function($waits);
                    declare(ticks=1) { $x = 1; $y = 2; }
                    unregister_tick_function($waits);
                    file_put_contents('ended', 'x', FILE_APPEND);
                });
                return [];
            }
            function __unserialize(array $data): void {}
        }
        return function (Hearth\Request $request): string {
            session_save_path(__DIR__);
            session_id('s' . $request->query('id'));
            session_start();
            $_SESSION['kept'] = new Kept;
            return 'fine';
        };",
    )
    .start();
    let targets: Vec<String> = (0..12).map(|id| format!("/?id={id}")).collect();
    for answer in &at_once(&server, &targets).0 {
        assert_eq!(ok(answer), "fine");
    }
    let ended = server.directory().join("ended");
    eventually("each task has used its tick function to its end", || {
        std::fs::read(&ended).is_ok_and(|text| text.len() == targets.len())
    });
    server.stop();
}
