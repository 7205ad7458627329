//! What goes wrong in an app stays in its request.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::Server;
use testkit::service::MariaDb;

use crate::support::{at_once, ok, one_worker};

const APP: &str = r#"
return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/exception': usleep(1000); throw new RuntimeException('out of luck');
        case '/error': return undefined_function();
        case '/exit': echo 'before'; usleep(1000); exit;
        case '/exit-text': exit('bye');
        case '/exit-code': http_response_code(404); exit(3);
        case '/exit-deep': array_map(function () { ob_start(); echo 'deep'; (new Fiber(fn () => exit))->start(); }, [1]);
        case '/fatal': usleep(1000); return (fn (): int => eval('class A {} class A {}'))();
        case '/memory': return strlen(str_repeat('x', 1 << 30));
        case '/stack': $f = function () use (&$f) { return [$f(), 1]; }; return $f();
        case '/segv': usleep(1000); posix_kill(getmypid(), SIGSEGV); posix_kill(getmypid(), SIGSEGV); sleep(5); return 'survived';
        case '/slow': usleep(600000); return 'slow done';
        case '/pid': return (string) getmypid();
        default: return 'fine';
    }
};"#;

fn app() -> testkit::ServerBuilder {
    one_worker(APP)
        .args(["--ini", "memory_limit=64M"])
        .file("unused", "")
}

#[test]
fn an_exception_is_a_500_and_a_log_line_with_the_request_id() {
    let server = app().start();
    let response = server.get("/exception");
    assert_eq!(response.status, 500);
    assert!(
        !response.text().contains("out of luck"),
        "the client sees what it must not: {}",
        response.text()
    );
    let line = server.expect_log("out of luck");
    assert!(
        line.contains("RuntimeException") && line.contains("app.php:"),
        "{line}"
    );
    server.expect_log("request=");
    assert_eq!(server.get("/error").status, 500);
    server.expect_log("undefined_function");
    assert_eq!(ok(&server.get("/")), "fine");
    server.stop();
}

#[test]
fn display_errors_shows_the_exception_to_the_developer() {
    let server = app().arg("--display-errors").start();
    let text = server.get("/exception").text();
    assert!(
        text.contains("out of luck") && text.contains("app.php"),
        "{text}"
    );
    server.stop();
}

#[test]
fn exit_ends_its_request_only() {
    let server = app().start();
    let pid = ok(&server.get("/pid"));
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(ok(&server.get("/exit")), "before");
    assert_eq!(ok(&server.get("/exit-text")), "bye");
    assert_eq!(server.get("/exit-code").status, 404);
    assert_eq!(ok(&server.get("/exit-deep")), "deep");
    assert_eq!(ok(&slow.response()), "slow done");
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

/// The request fails with 500; another one of the same worker finishes; a new worker follows.
#[track_caller]
fn fatal(path: &str, logged: &str) {
    let server = app().start();
    let pid = ok(&server.get("/pid"));
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(server.get(path).status, 500);
    assert_eq!(ok(&slow.response()), "slow done");
    server.expect_log(logged);
    let until = Instant::now() + Duration::from_secs(10);
    while ok(&server.get("/pid")) == pid {
        assert!(Instant::now() < until, "the worker was not replaced");
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = ok(&server.get("/pid"));
    assert!(
        after.parse::<u32>().is_ok(),
        "its successor answers {after:?}"
    );
    assert_eq!(server.get(path).text(), "Internal Server Error\n");
    drop(slow); // an old worker stays for the connections it has
    server.stop();
}

#[test]
fn a_fatal_error_is_a_500_and_the_worker_is_replaced() {
    fatal("/fatal", "declare class A");
}

#[test]
fn running_out_of_memory_is_a_500_and_the_worker_is_replaced() {
    fatal("/memory", "Allowed memory size");
}

#[test]
fn endless_recursion_does_not_take_the_server_down() {
    let server = app().start();
    let mut client = server.connect();
    client.send("GET /stack HTTP/1.1\r\nHost: x\r\n\r\n");
    if let Ok(response) = client.try_response(false) {
        assert_eq!(response.status, 500);
    }
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        if client
            .try_response(false)
            .is_ok_and(|response| response.status == 200)
        {
            break;
        }
        assert!(Instant::now() < until, "no worker answers any more");
    }
    server.stop();
}

#[test]
fn a_crashed_worker_is_back_and_the_log_names_its_requests() {
    let server = app().start();
    let mut victim = server.connect();
    victim.send("GET /slow?victim HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut crash = server.connect();
    crash.send("GET /segv HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(crash.try_response(false).is_err() && victim.try_response(false).is_err());
    assert_eq!(ok(&server.get("/")), "fine");
    server.expect_log("/segv");
    server.expect_log("/slow");
    server.expect_log("SIGSEGV");
    server.stop();
}

#[test]
fn a_crash_leaves_the_other_workers_alone() {
    let server = Server::script(APP).args(["--workers", "2"]).start();
    let mut slow: Vec<_> = (0..16).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    std::thread::sleep(Duration::from_millis(100));
    testkit::kill(server.workers()[0], Signal::ABORT);
    let finished = slow
        .iter_mut()
        .filter_map(|client| client.try_response(false).ok())
        .count();
    assert!(
        (1..16).contains(&finished),
        "{finished} of 16 finished: both workers should have had some"
    );
    for _ in 0..20 {
        assert_eq!(ok(&server.get("/")), "fine");
    }
    server.stop();
}

#[test]
fn workers_that_keep_dying_are_restarted_with_back_off() {
    let server =
        one_worker("return function () { posix_kill(getmypid(), SIGKILL); sleep(1); };").start();
    let until = Instant::now() + Duration::from_secs(3);
    let mut deaths = 0;
    while Instant::now() < until {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let _ = client
            .stream()
            .set_read_timeout(Some(Duration::from_secs(2)));
        let _ = client.try_response(false);
        deaths += 1;
    }
    assert!(deaths < 60, "{deaths} deaths in three seconds: no back-off");
    assert!(
        testkit::in_session(server.pid()).contains(&server.pid()),
        "the supervisor is gone"
    );
    server.stop();
}

#[test]
fn persistent_connections_are_refused_with_the_reason() {
    let server = one_worker(
        r#"return function () {
            try { new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true]); return 'accepted'; }
            catch (Throwable $e) { return get_class($e) . ': ' . $e->getMessage(); }
        };"#,
    )
    .env("DSN", MariaDb::shared().dsn())
    .start();
    let text = ok(&server.get("/"));
    assert!(
        text.contains("ATTR_PERSISTENT") && text.contains("concurrency"),
        "{text}"
    );
    server.stop();
    let alone = one_worker("return fn () => (new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true]))->query('SELECT VERSION()')->fetchColumn();")
        .args(["--concurrency", "1"])
        .env("DSN", MariaDb::shared().dsn())
        .start();
    assert!(ok(&alone.get("/")).contains("MariaDB"));
    alone.stop();
}

#[test]
fn two_requests_on_one_connection_get_an_error_that_names_both() {
    let server = one_worker(
        r#"$near = $far = null;
        return function ($request) use (&$near, &$far) {
            if ($request->path === '/connect') { [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); return 'connected'; }
            if ($request->path === '/write') { fwrite($far, "5\n"); return 'written'; }
            try { return 'got ' . fgets($near); } catch (Error $e) { return 'error ' . $e->getMessage(); }
        };"#,
    )
    .start();
    assert_eq!(ok(&server.get("/connect")), "connected");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(100));
    let error = ok(&server.get("/second"));
    assert!(
        error.starts_with("error ") && error.to_lowercase().matches("task ").count() >= 2,
        "{error}"
    );
    assert!(
        error.to_lowercase().contains("pool"),
        "it does not say what to do: {error}"
    );
    assert_eq!(ok(&server.get("/write")), "written");
    assert_eq!(ok(&first.response()), "got 5\n", "the first was disturbed");
    server.stop();
}

#[test]
fn two_requests_on_one_database_connection_never_mix_their_answers() {
    let server = one_worker(
        r#"$db = null;
        return function ($request) use (&$db) {
            $db ??= new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
            $id = $request->query('id', 'none');
            try { $got = $db->query("SELECT SLEEP(0.05), '$id'")->fetchColumn(1); return $got === $id ? 'right' : "wrong $got"; }
            catch (PDOException|Error $e) { return 'refused'; }
        };"#,
    )
    .env("DSN", MariaDb::shared().dsn())
    .start();
    assert_eq!(ok(&server.get("/")), "right");
    let targets: Vec<String> = (0..10).map(|id| format!("/?id={id}")).collect();
    let (answers, _) = at_once(&server, &targets);
    let texts: Vec<String> = answers.iter().map(ok).collect();
    assert!(
        texts
            .iter()
            .all(|text| text == "right" || text == "refused"),
        "{texts:?}"
    );
    assert!(texts.contains(&"right".to_owned()), "{texts:?}");
    server.stop();
}

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
            (450..3000).contains(&start.elapsed().as_millis()),
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
fn lines_below_the_log_level_are_not_written() {
    let code = "return function () { trigger_error('only a warning', E_USER_WARNING); throw new Exception('worse'); };";
    for (level, warns) in [("error", false), ("warn", true)] {
        let server = one_worker(code).args(["--log-level", level]).start();
        assert_eq!(server.get("/").status, 500);
        server.expect_log("worse");
        assert_eq!(
            server.log().text().contains("only a warning"),
            warns,
            "log.level {level}"
        );
        server.stop();
    }
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
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(ok(&server.get("/")), "fine");
    server.expect_log("/stubborn");
    server.stop();
}

/// `/long` waits, `/stream` waits after its first piece; what cancels one of them leaves a mark, which `/look` shows.
const CANCELLED_LEAVES_A_MARK: &str = r#"return function ($request) {
    $wait = function () { try { sleep(20); } finally { file_put_contents('mark', 'cancelled'); } };
    return match ($request->path) {
        '/look' => @file_get_contents('mark') ?: 'nothing',
        '/long' => $wait(),
        '/stream' => (function () use ($wait) { yield 'first'; $wait(); })(),
        default => 'at once',
    };
};"#;

#[track_caller]
fn expect_cancelled(server: &Server) {
    let until = Instant::now() + Duration::from_secs(5);
    while ok(&server.get("/look")) != "cancelled" {
        assert!(
            Instant::now() < until,
            "the request goes on though its client is gone"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_client_that_hangs_up_cancels_its_request() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

#[test]
fn a_client_that_hangs_up_in_the_middle_of_a_stream_ends_it() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().expect("a header").status, 200);
    assert_eq!(client.chunk().expect("a chunk"), b"first");
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

#[test]
fn a_client_that_hangs_up_on_a_unix_socket_cancels_its_request() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK)
        .args(["--listen", "127.0.0.1:0", "--listen", "unix:app.sock"])
        .start();
    let path = server.directory().join("app.sock");
    let mut client = UnixStream::connect(path).expect("the Unix socket accepts");
    client
        .write_all(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("the request can be sent");
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

/// As under nginx: an end of sending is no reason not to answer, unless the answer has to be waited for.
#[test]
fn a_client_that_ends_its_sending_gets_what_is_there_at_once() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /now HTTP/1.1\r\nHost: x\r\n\r\nGET /then HTTP/1.1\r\nHost: x\r\n\r\n");
    let _ = client.stream().shutdown(Shutdown::Write);
    assert_eq!(ok(&client.response()), "at once");
    assert_eq!(ok(&client.response()), "at once");
    assert!(client.is_closed_by_server());
    let mut client = server.connect();
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    let _ = client.stream().shutdown(Shutdown::Write);
    assert!(
        client.is_closed_by_server(),
        "an answer after 20 s of waiting"
    );
    expect_cancelled(&server);
    server.stop();
}
