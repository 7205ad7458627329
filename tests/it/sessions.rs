//! `session.save_handler = hearth` and `Hearth\Session`: sessions in the cache that all workers share.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::http::{Client, Response};
use testkit::{Server, ServerBuilder};

use crate::support::{
    UNTIL_GO, admin, at_once, encoded, eventually, example, hearth, let_go, ok, one_worker, run,
    same, until_handled,
};

const HANDLER: [&str; 2] = ["--ini", "session.save_handler=hearth"];
const ANY_ID: [&str; 2] = ["--ini", "session.use_strict_mode=0"];

/// Runs the code that is in the query; `$count` is what most of it does: read a number, wait, write the next.
const RUN: &str = r"
    $count = function (int $wait = 0) { session_id('shared'); session_start(); $n = ($_SESSION['n'] ?? 0) + 1; $wait && usleep($wait); $_SESSION['n'] = $n; return $n; };";

fn resident() -> ServerBuilder {
    let code = format!(
        "return function ($request) {{ {RUN} return json_encode(eval(str_replace('UNTIL_GO', \"{UNTIL_GO}\", $request->query('code')))); }};"
    );
    Server::script(&code).args(HANDLER).args(ANY_ID)
}

fn classic() -> ServerBuilder {
    let code = format!(
        "<?php {RUN} echo json_encode(eval(str_replace('UNTIL_GO', \"{UNTIL_GO}\", $_GET['code'])));"
    );
    Server::app(".")
        .file("index.php", code)
        .args(HANDLER)
        .args(ANY_ID)
}

/// A request that is under way.
fn begun(server: &Server, code: &str) -> Client {
    let mut client = server.connect();
    // A POST is not repeated where its worker dies.
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        encoded(code)
    ));
    client
}

/// In one worker with many tasks, in workers with one each, and in classic mode.
fn ways() -> [ServerBuilder; 3] {
    [
        resident().args(["--workers", "1"]),
        resident().args(["--workers", "3", "--concurrency", "1"]),
        classic().args(["--workers", "3"]),
    ]
}

#[test]
fn no_write_is_lost_and_no_two_have_it_at_once() {
    for way in ways() {
        let server = way.args(["--admin", "127.0.0.1:0"]).start();
        let (answers, _) = at_once(&server, &same(&encoded("return $count(5000);"), 12));
        let mut numbers: Vec<u32> = answers
            .iter()
            .map(|answer| ok(answer).parse().expect("a number"))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=12).collect::<Vec<u32>>());
        let page = admin(&server, "/metrics").text();
        assert!(page.contains("\nhearth_sessions 1\n"), "{page}");
        assert!(
            !page.contains("\nhearth_sessions_awaited_total 0\n"),
            "{page}"
        );
        server.stop();
    }
}

/// The same through the class, as a framework would: read, then write, and nothing between.
#[test]
fn a_framework_that_calls_the_handler_itself_loses_none_either() {
    let code = "$s = new Hearth\\Session('own'); $n = (int) $s->read('shared') + 1; usleep(5000); $s->write('shared', (string) $n); return $n;";
    for way in ways() {
        let server = way.start();
        let (answers, _) = at_once(&server, &same(&encoded(code), 12));
        let mut numbers: Vec<u32> = answers
            .iter()
            .map(|answer| ok(answer).parse().expect("a number"))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=12).collect::<Vec<u32>>());
        // One that reads, and neither writes nor closes: its end closes.
        assert_eq!(
            run(
                &server,
                "return (new Hearth\\Session('own'))->read('shared');"
            ),
            "\"12\""
        );
        assert_eq!(run(&server, code), "13");
        server.stop();
    }
}

/// The one object of an app that all requests use, which is how Laravel keeps it.
#[test]
fn one_object_serves_requests_at_once() {
    let server = one_worker(
        "$s = new Hearth\\Session('', 60); return function () use ($s) { $n = (int) $s->read('shared') + 1; usleep(3000); $s->write('shared', (string) $n); return (string) $n; };",
    )
    .start();
    let (answers, _) = at_once(&server, &same("/", 8));
    let mut numbers: Vec<String> = answers.iter().map(ok).collect();
    numbers.sort();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    server.stop();
}

/// However a request ends that has the session open, the next one has it at once.
#[test]
fn a_session_is_free_when_its_request_has_ended_badly() {
    let fatal = "eval('class Twice {} class Twice {}');";
    for way in [
        resident().args(["--workers", "1"]),
        classic().args(["--workers", "2"]),
    ] {
        let server = way.start();
        assert_eq!(run(&server, "return $count();"), "1");
        // What was changed is written, as under php-fpm.
        assert_eq!(
            server.get(&encoded(&format!("$count(); {fatal}"))).status,
            500
        );
        assert_eq!(run(&server, "return $count();"), "3");
        assert_eq!(
            server
                .get(&encoded("$count(); throw new Exception('thrown');"))
                .status,
            500
        );
        assert_eq!(run(&server, "$count(); exit;"), "");
        assert_eq!(run(&server, "return $count();"), "6");
        let reads = "$s = new Hearth\\Session(); $s->read('read'); $GLOBALS['kept'] = $s;";
        for end in [fatal, "throw new Exception('thrown');", "exit;"] {
            let _ = server.get(&encoded(&format!("{reads} {end}")));
            let begin = Instant::now();
            assert_eq!(
                run(
                    &server,
                    "return (new Hearth\\Session())->write('read', 'x');"
                ),
                "true"
            );
            assert!(begin.elapsed() < Duration::from_secs(5), "{end}");
        }
        server.stop();
    }
}

/// A request that was cancelled in its wait for a session has none, and goes on without it; so the holder loses nothing.
#[test]
fn a_wait_for_a_session_can_be_cut_off() {
    let server = resident().args(["--workers", "1"]).start();
    let mut holder = begun(
        &server,
        "session_id('shared'); session_start(); UNTIL_GO $_SESSION['by'] = 'holder'; return 'held';",
    );
    until_handled(&server, 1);
    let late = "session_id('shared');
        try { Hearth\\timeout(0.1, fn () => session_start()); } catch (Hearth\\TimeoutError) { $seen[] = 'late'; }
        $seen[] = session_status() === PHP_SESSION_ACTIVE; $_SESSION['by'] = 'intruder'; return $seen;";
    assert_eq!(run(&server, late), "[\"late\",false]");
    // A client that leaves does not wait on.
    drop(begun(&server, "$count(); return 1;"));
    until_handled(&server, 1);
    let_go(&server);
    assert_eq!(ok(&holder.response()), "\"held\"");
    assert_eq!(
        run(
            &server,
            "session_id('shared'); session_start(); return $_SESSION;"
        ),
        r#"{"by":"holder"}"#
    );
    server.stop();
}

#[test]
fn a_request_over_its_time_gives_its_session_up() {
    let server = resident()
        .args(["--workers", "1", "--request-timeout", "0.3"])
        .start();
    assert_eq!(run(&server, "return $count();"), "1");
    let late = server.get(&encoded("$count(20000000); return 1;"));
    assert_ne!(late.status, 200);
    assert_eq!(run(&server, "return $count();"), "2");
    server.stop();
}

/// The write of the killed one is lost; nothing else is, and the next one waits for nothing.
#[test]
fn a_killed_worker_leaves_its_sessions() {
    for (app, way) in [
        ("app.php", resident().args(["--concurrency", "1"])),
        (".", classic()),
    ] {
        let server = way.args(["--workers", "2"]).start();
        assert_eq!(run(&server, "return $count();"), "1");
        let pid = "file_put_contents('pid', getmypid()); ";
        let mut holder = begun(
            &server,
            &format!(
                "session_id('shared'); session_start(); {pid} UNTIL_GO $_SESSION['n'] = 99; return 1;"
            ),
        );
        let file = server.directory().join("pid");
        let mut killed = 0;
        eventually("the session is held", || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            killed = text.parse().unwrap_or(0);
            killed != 0
        });
        let mut next = begun(&server, "return $count();");
        until_waits(&server, app);
        let begin = Instant::now();
        testkit::kill(killed, Signal::KILL);
        assert_eq!(ok(&next.response()), "2");
        assert!(
            begin.elapsed() < Duration::from_secs(3),
            "{:?}",
            begin.elapsed()
        );
        assert_ne!(
            holder.try_response(false).map_or(0, |answer| answer.status),
            200
        );
        server.stop();
    }
}

/// Until a request waits for a session of another.
fn until_waits(server: &Server, app: &str) {
    eventually("a request waits for the session", || {
        let output = hearth(server, &["cache", "stats", app]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text
            .lines()
            .find(|line| line.starts_with("sessions_awaited"));
        line.is_some_and(|line| !line.ends_with(" 0"))
    });
}

/// A logout while another request of the visitor waits: that one gets a new session, with another id.
#[test]
fn an_id_that_was_destroyed_is_not_used_again() {
    let server = resident()
        .args(["--workers", "1"])
        .args(["--ini", "session.use_strict_mode=1"])
        .start();
    run(
        &server,
        "session_id('-'); session_start(); $_SESSION['user'] = 7; file_put_contents('id', session_id());",
    );
    let open = "session_id(file_get_contents('id')); session_start();";
    let mut logout = begun(
        &server,
        &format!("{open} UNTIL_GO return session_destroy();"),
    );
    until_handled(&server, 1);
    let mut other = begun(
        &server,
        &format!("{open} return [session_id() === file_get_contents('id'), $_SESSION];"),
    );
    until_handled(&server, 2);
    let_go(&server);
    assert_eq!(ok(&logout.response()), "true");
    assert_eq!(ok(&other.response()), "[false,[]]");
    server.stop();
}

/// With cookies, as browsers do it; and the sessions outlive workers and reloads.
#[test]
fn visitors_keep_their_own_over_deaths_and_reloads() {
    let server = Server::app(".")
        .file("app.php", "<?php session_start(); $_SESSION['seen'][] = $_GET['page']; echo implode(',', $_SESSION['seen']);")
        .args(HANDLER)
        .args(["--workers", "2"])
        .args(["--ini", "session.use_strict_mode=1"])
        .start();
    let visit = |cookie: Option<&str>, page: &str| {
        let mut client = server.connect();
        let cookie = cookie.map_or(String::new(), |cookie| format!("Cookie: {cookie}\r\n"));
        client.send(format!(
            "GET /app.php?page={page} HTTP/1.1\r\nHost: x\r\n{cookie}\r\n"
        ));
        client.response()
    };
    let cookie_of = |answer: &Response| {
        let line = answer.header("set-cookie").expect("a cookie").to_owned();
        line.split(';').next().expect("a part").to_owned()
    };
    let (anne, bert) = (visit(None, "a"), visit(None, "b"));
    let (anne, bert) = (cookie_of(&anne), cookie_of(&bert));
    assert_ne!(anne, bert);
    assert_eq!(ok(&visit(Some(&anne), "c")), "a,c");
    testkit::kill(server.workers()[0], Signal::KILL);
    assert!(hearth(&server, &["reload", "."]).status.success());
    assert_eq!(ok(&visit(Some(&anne), "d")), "a,c,d");
    assert_eq!(ok(&visit(Some(&bert), "e")), "b,e");
    // An id that this server did not give is not taken over.
    let stranger = visit(Some("PHPSESSID=abcdefghijklmnopqrstuvwxyz"), "x");
    assert_eq!(ok(&stranger), "x");
    assert!(!cookie_of(&stranger).contains("abcdefgh"));
    // `hearth cache clear` is not a logout; this is.
    let clear = |words: &[&str]| {
        let output = hearth(&server, &[&["cache", "clear", "."], words].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(clear(&[]), "the cache is empty\n");
    assert_eq!(ok(&visit(Some(&anne), "f")), "a,c,d,f");
    assert_eq!(clear(&["--sessions"]), "3 sessions have ended\n");
    assert_eq!(ok(&visit(Some(&anne), "g")), "g");
    server.stop();
}

/// Two apps on one server that set other paths do not share a session, nor does code that reads the cache.
#[test]
fn the_save_path_keeps_sessions_apart() {
    let server = resident().args(["--workers", "1"]).start();
    let code = |path: &str| format!("session_save_path('{path}'); return $count();");
    assert_eq!(run(&server, &code("shop")), "1");
    assert_eq!(run(&server, &code("blog")), "1");
    assert_eq!(run(&server, &code("shop")), "2");
    assert_eq!(
        run(
            &server,
            "return (new Hearth\\Session('shop'))->read('shared');"
        ),
        "\"n|i:2;\""
    );
    assert_eq!(
        run(
            &server,
            "$c = new Hearth\\Cache(); return [$c->get('shared'), $c->namespace('shop')->get('shared')];"
        ),
        "[null,null]"
    );
    server.stop();
}

/// Crawlers that open a session with each request push out each other only, and the log and the metrics say so.
#[test]
fn a_flood_of_new_sessions_is_told_and_ends_no_visitors() {
    let server = resident()
        .args([
            "--workers",
            "1",
            "--cache-size",
            "1M",
            "--admin",
            "127.0.0.1:0",
        ])
        .start();
    assert_eq!(run(&server, "return $count();"), "1");
    std::thread::sleep(Duration::from_millis(1050));
    assert_eq!(run(&server, "return $count();"), "2");
    let flood = "for ($i = 0; $i < 3000; $i++) { session_id(\"crawler-$i\"); session_start(); $_SESSION['x'] = str_repeat('x', 300); session_write_close(); } return $i;";
    assert_eq!(run(&server, flood), "3000");
    server.expect_log("sessions that no second request has used were evicted before their time");
    assert_eq!(run(&server, "return $count();"), "3");
    let page = admin(&server, "/metrics").text();
    let evicted = page
        .lines()
        .find_map(|line| line.strip_prefix("hearth_sessions_evicted_total "))
        .and_then(|number| number.parse::<u32>().ok());
    assert!(evicted.is_some_and(|count| count > 1000), "{page}");
    let status = hearth(&server, &["status", "app.php"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(text.contains("\nsessions    "), "{text}");
    server.stop();
}

#[test]
fn what_cannot_be_done_is_told() {
    let message = |what: &str| {
        format!(
            "set_error_handler(function ($n, $text) use (&$told) {{ $told[] = $text; }}); {what}; return $told;"
        )
    };
    let server = resident()
        .args(["--workers", "1", "--cache-size", "1M"])
        .start();
    for (code, told) in [
        (
            "session_save_path(str_repeat('p', 800)); session_start()",
            "session.save_path has 800 bytes, more than 700",
        ),
        (
            "session_start(); $_SESSION['x'] = str_repeat('x', 1 << 20); session_write_close()",
            "half of cache.size: raise it, or keep less",
        ),
        (
            "(new Hearth\\Session())->read('not an id')",
            "Session ID is too long or contains illegal characters",
        ),
        (
            "try { new Hearth\\Session('', 0); } catch (ValueError $e) { $told = $e->getMessage(); }",
            "greater than 0",
        ),
    ] {
        let text = run(&server, &message(code));
        assert!(text.contains(told), "{code}: {text}");
    }
    server.stop();
    let none = resident()
        .args(["--workers", "1", "--cache-size", "0"])
        .start();
    let text = run(&none, &message("session_start()"));
    assert!(text.contains("there is none: cache.size is 0"), "{text}");
    none.stop();
}

/// In an autoloader nothing else of the worker runs: a wait for a session that it has would have no end.
#[test]
fn a_wait_that_could_not_end_is_refused() {
    let server = resident().args(["--workers", "1"]).start();
    let mut holder = begun(
        &server,
        "session_id('shared'); session_start(); UNTIL_GO return 1;",
    );
    until_handled(&server, 1);
    let inside = "set_error_handler(function ($n, $text) use (&$told) { $told[] = $text; });
        spl_autoload_register(function () { session_id('shared'); session_start(); }); class_exists('Missing'); return $told;";
    let text = run(&server, inside);
    assert!(
        text.contains("open sessions outside of autoloaders"),
        "{text}"
    );
    let_go(&server);
    assert_eq!(ok(&holder.response()), "1");
    server.stop();
}

/// A script that starts a copy of itself: the session is the script's, and the copy's end lets none in.
#[test]
fn a_session_is_not_let_go_by_a_fork() {
    let code = r"session_module_name('hearth'); session_id('forks'); session_start();
        if (pcntl_fork() === 0) { exit; }
        pcntl_wait($status); $_SESSION['x'] = 1;
        echo json_encode([session_write_close(), error_get_last()]);";
    let output = std::process::Command::new(testkit::hearth())
        .args(["run", "-n", "-r", code])
        .output()
        .expect("hearth starts");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[true,null]",
        "{output:?}"
    );
}

/// Laravel's `Session` and `config()`, as far as the example calls them.
#[test]
fn the_guide() {
    let code = example("docs/guide/sessions.md", "laravel").replace("<?php", "");
    let server = one_worker(&format!(
        "final class Session {{ public static $drivers; public static function extend($name, $make) {{ self::$drivers[$name] = $make; }} }}
        function config(string $name): int {{ return 120; }}
        {code}
        $handler = (Session::$drivers['hearth'])(null);
        return function () use ($handler) {{ $seen = $handler->read('id'); $handler->write('id', $seen . 'x'); return $seen; }};"
    ))
    .start();
    for seen in ["", "x", "xx"] {
        assert_eq!(server.get("/").text(), seen);
    }
    server.stop();
}
