//! One request at a time has a session open, and however that request ends, the next one gets it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::Server;

use super::{begun, classic, resident, ways};
use crate::support::{
    admin, at_once, encoded, eventually, hearth, let_go, ok, one_worker, run, same, until_handled,
};

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

/// Each request opens it with its own session.save_path.
#[test]
fn one_object_keeps_the_path_of_each_request() {
    let server = one_worker(
        "$handler = new Hearth\\Session(); ini_set('session.use_cookies', '0'); ini_set('session.cache_limiter', '');
        return function ($request) use ($handler) {
            $path = $request->query('path'); ini_set('session.save_path', $path); session_set_save_handler($handler);
            session_id('visitor' . $path); session_start(); $before = $_SESSION['path'] ?? 'new'; $_SESSION['path'] = $path;
            usleep((int) $request->query('wait')); session_write_close(); return $before; };",
    )
    .start();
    let both = ["/?path=a&wait=60000", "/?path=b&wait=20000"].map(str::to_owned);
    for expected in [["new", "new"], ["a", "b"]] {
        let (answers, _) = at_once(&server, &both);
        assert_eq!(answers.iter().map(ok).collect::<Vec<_>>(), expected);
    }
    server.stop();
}

/// By another task of its request.
#[test]
fn a_session_is_not_closed_while_it_is_awaited() {
    let server = resident().args(["--workers", "1"]).start();
    let mut holder = begun(&server, "$n = $count(); UNTIL_GO return $n;");
    until_handled(&server, 1);
    let mut closes = begun(
        &server,
        "session_id('shared');
            $done = Hearth\\parallel([fn () => session_start(), function () { usleep(20000); $closed = @session_abort(); touch('go'); return $closed; }]);
            return [$done, session_status() === PHP_SESSION_ACTIVE];",
    );
    assert_eq!(ok(&holder.response()), "1");
    assert_eq!(ok(&closes.response()), "[[true,false],true]");
    assert_eq!(run(&server, "return $count();"), "2");
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
            .find(|line| line.starts_with("session_lock_waits"));
        line.is_some_and(|line| !line.ends_with(" 0"))
    });
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
