//! Requests that take too long.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::service::MariaDb;

use crate::support::{UNTIL_GO, eventually, large_form, let_go, ok, one_worker, until_handled};

#[test]
fn a_request_over_its_time_gets_a_timeout_error_inside_a_database_read() {
    let server = one_worker(
        r#"posix_mkfifo(__DIR__ . '/fifo', 0600);
        return function ($request) {
            try {
                match ($request->path) {
                    '/database' => (new PDO(getenv('DSN'), 'hearth', 'hearth'))->query('SELECT SLEEP(20)')->fetchColumn(),
                    '/sleep' => sleep(20),
                    '/pipe' => shell_exec('exec cat ' . __DIR__ . '/fifo'),
                    '/computing' => (function () { for (;;) { strlen('x'); } })(),
                };
                return 'not cut off';
            } catch (Hearth\TimeoutError $e) { return 'cut off: ' . $e->getMessage(); }
        };"#,
    )
    .args(["--request-timeout", "0.5"])
    .env("DSN", MariaDb::shared().dsn())
    .start();
    for path in ["/database", "/sleep", "/pipe", "/computing"] {
        let start = Instant::now();
        let text = server.get(path).text();
        assert!(text.starts_with("cut off: "), "{path}: {text}");
        assert!(
            (450..15_000).contains(&start.elapsed().as_millis()),
            "{path}: {:?}",
            start.elapsed()
        );
    }
    // As under php-fpm, the command itself is not ended: it still reads, or this would fail.
    const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let writer = std::fs::OpenOptions::new()
        .write(true)
        .custom_flags(NONBLOCK)
        .open(server.directory().join("fifo"));
    drop(writer.expect("the command still runs"));
    server.stop();
}

#[test]
fn a_request_over_its_time_gets_a_timeout_error_where_it_names_the_form() {
    let server = one_worker(
        "return function ($request) {
            try { return match ($request->path) {
                '/read' => 'got ' . count($_POST),
                '/write' => 'got ' . ($_POST['a'] = 'x'),
                '/empty' => 'got ' . (int) empty($_FILES),
                '/each' => (function () { foreach ($_REQUEST as $value) {} return 'got all'; })(),
                '/unset' => (function () { unset($_POST); return 'got rid'; })(),
            }; } catch (Hearth\\TimeoutError $e) { return 'cut off'; }
        };",
    )
    .args(["--request-timeout", "0.2"])
    .start();
    for path in ["/read", "/write", "/empty", "/each", "/unset"] {
        let mut client = server.connect();
        client.send(large_form(path, "a=1").0);
        assert_eq!(ok(&client.response()), "cut off", "{path}");
    }
    server.stop();
}

/// The exception that says so is too much: its trace has 30,000 frames.
#[test]
fn a_request_over_its_time_and_its_memory_lets_go_of_what_it_waited_for() {
    let app = r#"[$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        function read($stream, int $depth) { return $depth ? read($stream, $depth - 1) . '' : fgets($stream); }
        return function ($request) use ($near, $far) {
            if ($request->path === '/deep') { return read($near, 30000); }
            set_time_limit(20);
            UNTIL_GO
            fwrite($far, "read\n");
            return fgets($near);
        };"#;
    let server = one_worker(&app.replace("UNTIL_GO", UNTIL_GO))
        .args(["--request-timeout", "0.2", "--ini", "memory_limit=16M"])
        .start();
    let mut later = server.connect();
    later.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/deep").status, 500);
    server.expect_log("Allowed memory size");
    let_go(&server);
    assert_eq!(ok(&later.response()), "read\n");
    server.expect_log("a fatal error in PHP");
    drop(later);
    server.stop();
}

#[test]
fn code_that_does_not_let_go_costs_its_worker() {
    let server = one_worker(
        r#"return function ($request) {
            if ($request->path === '/') { return 'fine'; }
            for (;;) { try { for (;;) { strlen('x'); } } catch (Throwable) {} }
        };"#,
    )
    .args(["--request-timeout", "0.3", "--request-grace", "0.3"])
    .start();
    let start = Instant::now();
    let mut client = server.connect();
    client.send("GET /stubborn HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        client
            .try_response(false)
            .map_or(true, |response| response.status >= 500)
    );
    assert!(
        start.elapsed() < Duration::from_secs(18),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(ok(&server.get("/")), "fine");
    server.expect_log("/stubborn");
    server.stop();
}

/// A task that catches what ends a wait, and waits again, is told again.
#[test]
fn a_request_over_its_time_ends_whatever_it_catches() {
    let server = one_worker(
        r#"return function ($request) {
            $stubborn = function () { try { sleep(60); } catch (Hearth\TimeoutError | Hearth\CancelledError) { sleep(60); } };
            try {
                match ($request->path) {
                    '/own' => $stubborn(),
                    '/child' => Hearth\async($stubborn),
                    '/parallel' => Hearth\parallel([$stubborn, $stubborn]),
                    '/finally' => (function () { try { sleep(60); } finally { (new Hearth\Channel())->receive(); } })(),
                };
                return 'not cut off';
            } catch (Hearth\TimeoutError $e) { return 'cut off'; }
        };"#,
    )
    .args(["--request-timeout", "0.3", "--request-grace", "1"])
    .start();
    for path in ["/own", "/child", "/parallel", "/finally"] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let answer = client.try_response(false);
        assert!(answer.is_ok(), "{path}: {answer:?}");
    }
    server.stop();
}

/// Each of these loops begins what is short, and mostly that runs when the time is over.
const LOOPS: &str = r#"
    use function Hearth\{async, defer, parallel, race, timeout};
    final class Loops { public function __destruct() { for (;;) { async(fn () => usleep(3000)); usleep(1000); } } }
    function compute() { for ($n = 0; $n < 100000; $n++) { strlen('x'); } }
    function catches() { try { compute(); } catch (Throwable) {} }
    function begins() { for (;;) { yield async(compute(...)); } }
    $channel = new Hearth\Channel(1);
    $permits = new Hearth\Semaphore(1);
    $mutex = new Hearth\Mutex();
    $local = new Hearth\Local();
    $pool = new Hearth\Pool\Pool(factory: fn () => new ArrayObject(), size: 2);
    $database = new Hearth\Pool\Pdo('sqlite::memory:');
    return function ($request) use ($channel, $permits, $mutex, $local, $pool, $database) {
        $lasts = fn () => usleep(200) ?? compute();
        match ($request->path) {
            '/' => 0,
            '/destructor' => (function () { new Loops(); })(),
            '/computing' => (function () { for (;;) { async(compute(...)); } })(),
            '/awaited' => (function () { for (;;) { async(compute(...))->await(); } })(),
            '/native' => (function () { for (;;) { async(strlen(...), 'x'); } })(),
            '/parallel' => (function () { for (;;) { parallel([compute(...), compute(...)]); } })(),
            '/nothing' => (function () { for (;;) { parallel([]); } })(),
            '/race' => (function () { for (;;) { race([compute(...), compute(...)]); } })(),
            '/timeout' => (function () { for (;;) { timeout(30, compute(...)); } })(),
            '/beside' => (function () use ($lasts) { for (;;) { async($lasts); usleep(1000); } })(),
            '/nested' => (function () { for (;;) { async(fn () => async(fn () => async(compute(...))->await())->await()); } })(),
            '/generator' => (function () { foreach (begins() as $ignored); })(),
            '/caught' => (function () { for (;;) { async(catches(...)); } })(),
            '/parallel-caught' => (function () { for (;;) { parallel([catches(...), catches(...)]); } })(),
            '/race-caught' => (function () { for (;;) { race([catches(...), catches(...)]); } })(),
            '/timeout-caught' => (function () { for (;;) { timeout(30, catches(...)); } })(),
            '/sleeps' => (function () { for (;;) { sleep(0); usleep(0); } })(),
            '/channel' => (function () use ($channel) { for (;;) { $channel->send(1); $channel->receive(); } })(),
            '/semaphore' => (function () use ($permits) { for (;;) { $permits->acquire(); $permits->release(); } })(),
            '/mutex' => (function () use ($mutex) { for (;;) { $mutex->with(fn () => 1); } })(),
            '/iterates' => (function () { $all = new Hearth\Channel(1); async(function () use ($all) { for (;;) { $all->send(1); } }); foreach ($all as $one); })(),
            '/local' => (function () use ($local) { for (;;) { $local->set(1); $local->get(); } })(),
            '/timers' => (function () { for (;;) { Hearth\after(30, fn () => 1)->stop(); } })(),
            '/pool' => (function () use ($pool) { for (;;) { $pool->with(fn () => 1); } })(),
            '/borrows' => (function () use ($pool) { for (;;) { $pool->giveBack($pool->borrow()); } })(),
            '/database' => (function () use ($database) { for (;;) { $database->query('SELECT 1')->fetchAll(); } })(),
            '/cache' => (function () { $cache = new Hearth\Cache(); for (;;) { $cache->set('loop', 1); $cache->get('loop'); } })(),
            '/defer' => (function () { for (;;) { defer(fn () => 1); if (memory_get_usage() > 50e6) { for (;;) { async(compute(...)); } } } })(),
        };
        return (string) getmypid();
    };"#;

/// Children run on top of the loop that begins them, up to their first wait or, in a destructor, to their ends.
#[test]
fn a_loop_of_what_is_short_ends_with_its_time() {
    let paths = [
        "/destructor",
        "/computing",
        "/awaited",
        "/native",
        "/parallel",
        "/nothing",
        "/race",
        "/timeout",
        "/nested",
        "/generator",
        "/caught",
        "/parallel-caught",
        "/race-caught",
        "/timeout-caught",
        "/sleeps",
        "/channel",
        "/semaphore",
        "/mutex",
        "/iterates",
        "/local",
        "/timers",
        "/pool",
        "/borrows",
        "/database",
        "/cache",
        "/defer",
        "/beside",
        "/beside",
        "/beside",
        "/beside",
    ];
    let server = one_worker(LOOPS)
        .args(["--request-timeout", "0.3", "--request-grace", "5"])
        .start();
    let pid = ok(&server.get("/"));
    for path in paths {
        let begun = Instant::now();
        assert_eq!(server.get(path).status, 500, "{path}");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(4), "{path}: {took:?}");
    }
    assert_eq!(ok(&server.get("/")), pid);
    server.stop();
}

/// After a fatal error, nothing of PHP is on the stack but an internal function that the engine calls. One that takes longer
/// than the request's time is interrupted as it returns.
#[test]
fn an_internal_function_over_its_time_at_the_end_of_a_broken_request() {
    let server = one_worker(
        "return function ($request) {
            register_shutdown_function('hash_pbkdf2', 'sha512', 'a', 'b', 1_000_000);
            trigger_error('broken', E_USER_ERROR);
        };",
    )
    .args(["--request-timeout", "0.2", "--request-grace", "20"])
    .start();
    assert_eq!(server.get("/").status, 500);
    server.stop();
}

/// The error that comes out of the children's call is the request's own: code that catches it is not told again.
#[test]
fn a_request_over_its_time_is_told_once() {
    let server = one_worker(
        r#"function compute() { for (;;) { strlen('x'); } }
        return function ($request) {
            $told = 0;
            try {
                match ($request->path) {
                    '/parallel' => Hearth\parallel([compute(...), compute(...)]),
                    '/race' => Hearth\race([compute(...), compute(...)]),
                    '/timeout' => Hearth\timeout(30, compute(...)),
                    '/async' => Hearth\async(compute(...))->await(),
                };
            } catch (Hearth\TimeoutError) { $told++; }
            try {
                for ($n = 0; $n < 100; $n++) { usleep(1000); strlen('x'); }
            } catch (Hearth\TimeoutError) { $told++; }
            return "told $told";
        };"#,
    )
    .args(["--request-timeout", "0.3", "--request-grace", "5"])
    .start();
    for path in ["/parallel", "/race", "/timeout", "/async"] {
        assert_eq!(ok(&server.get(path)), "told 1", "{path}");
    }
    server.stop();
}

/// Whatever it is told, it waits again.
const NEVER_ENDS: &str = r#"
    function wait() { for (;;) { try { sleep(60); } catch (Throwable) {} } }
    return function ($request) {
        if ($request->path === '/defers') { Hearth\defer(wait(...)); return 'begun'; }
        if ($request->path === '/waits') { wait(); }
        return (string) getmypid();
    };"#;

#[test]
fn a_request_that_never_ends_leaves_with_its_worker_which_is_replaced() {
    std::thread::scope(|cases| {
        for dispatch in ["direct", "balanced"] {
            cases.spawn(move || never_ends(dispatch, "/defers", 200));
            cases.spawn(move || never_ends(dispatch, "/waits", 504));
        }
    });
}

fn never_ends(dispatch: &str, path: &str, status: u16) {
    let server = one_worker(NEVER_ENDS)
        .args(["--dispatch", dispatch])
        .args(["--request-timeout", "0.1", "--request-grace", "1"])
        .start();
    let pid = ok(&server.get("/"));
    let old = Path::new("/proc").join(&pid);
    let mut client = server.connect();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    server.expect_log("a request still runs 3000 ms after it was told to stop");
    server.expect_log("worker is replaced: a request that does not end");
    eventually("the worker has left", || !old.exists());
    assert_eq!(client.response().status, status, "{dispatch} {path}");
    assert_ne!(ok(&server.get("/")), pid, "{dispatch} {path}");
    server.stop();
}

/// PHP asks for a session's lock again when it is told that the call was interrupted.
#[test]
fn a_request_over_its_time_does_not_wait_for_a_session_any_longer() {
    let server = one_worker(
        r#"return function ($request) {
            session_save_path(__DIR__);
            session_id('same');
            if ($request->path === '/holds') {
                set_time_limit(0);
                session_start();
                UNTIL_GO
                return 'held';
            }
            try { session_start(); return 'not cut off'; } catch (Hearth\TimeoutError) { return 'cut off'; }
        };"#
            .replace("UNTIL_GO", UNTIL_GO)
            .as_str(),
    )
    .args(["--request-timeout", "0.3"])
    .start();
    let mut holder = server.connect();
    holder.send("GET /holds HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/waits")), "cut off");
    let_go(&server);
    assert_eq!(ok(&holder.response()), "held");
    server.stop();
}

#[test]
fn a_child_that_does_not_let_go_costs_its_worker() {
    let server = one_worker(
        r#"return function ($request) {
            if ($request->path === '/') { return 'fine'; }
            $compute = function () { usleep(1000); for (;;) { try { for (;;) { strlen('x'); } } catch (Throwable) {} } };
            Hearth\async($compute)->await();
        };"#,
    )
    .args(["--request-timeout", "0.3", "--request-grace", "0.3"])
    .start();
    let mut client = server.connect();
    client.send("GET /stubborn HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = client.try_response(false);
    assert!(
        answer
            .as_ref()
            .map_or(true, |response| response.status >= 500),
        "{answer:?}"
    );
    assert_eq!(ok(&server.get("/")), "fine");
    server.expect_log("/stubborn");
    server.stop();
}

/// Background work runs up to its first wait before the call that begins it returns: up to there it uses the request's time.
#[test]
fn background_work_that_keeps_its_request_ends_with_that_ones_time() {
    let server = one_worker(
        r#"spl_autoload_register(fn () => usleep(20_000_000));
        function compute() { for (;;); }
        return function ($request) {
            try {
                match ($request->path) {
                    '/computes' => Hearth\background('compute'),
                    '/of-a-task' => Hearth\async(fn () => Hearth\background('compute'))->await(),
                    '/has-a-task' => Hearth\background(fn () => Hearth\async('compute')),
                    '/blocks' => Hearth\background(fn () => class_exists('Missing')),
                };
                usleep(1000);
                return 'not cut off';
            } catch (Hearth\TimeoutError) { return 'cut off'; }
        };"#,
    )
    .args(["--request-timeout", "0.3", "--request-grace", "2"])
    .start();
    for path in ["/computes", "/of-a-task", "/has-a-task", "/blocks"] {
        assert_eq!(ok(&server.get(path)), "cut off", "{path}");
    }
    server.stop();
}
