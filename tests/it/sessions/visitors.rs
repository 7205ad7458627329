//! Sessions as visitors have them: cookies, ids, paths, floods, error texts.

use std::time::Duration;

use rustix::process::Signal;
use testkit::Server;
use testkit::http::Response;

use super::{HANDLER, begun, resident};
use crate::support::{admin, example, hearth, let_go, ok, one_worker, run, until_handled};

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

/// `session.auto_start` begins one for each visitor, not one at boot; nor is a session that boot began a visitor's.
#[test]
fn each_visitor_gets_a_session_that_starts_by_itself() {
    let app = "session_id('boot'); @session_start(); $_SESSION['boot'] = true;
        return function () { $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; return session_id() . ' ' . json_encode($_SESSION); };";
    let own = "return function () { session_status() === PHP_SESSION_ACTIVE || session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        return session_id() . ' ' . json_encode($_SESSION); };";
    let by_hand = app.replace("$_SESSION['n'] =", "session_start(); $_SESSION['n'] =");
    for (code, auto_start) in [(own, "1"), (app, "1"), (by_hand.as_str(), "0")] {
        for handler in ["hearth", "files"] {
            let server = Server::script(code)
                .args(["--workers", "1", "--ini", "session.save_path=."])
                .args(["--ini", &format!("session.save_handler={handler}")])
                .args(["--ini", &format!("session.auto_start={auto_start}")])
                .start();
            let visit = |cookie: &str| {
                let mut client = server.connect();
                client.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{cookie}\r\n"));
                client.response()
            };
            let mut ids = Vec::new();
            for _ in 0..2 {
                let first = visit("");
                let text = ok(&first);
                let (id, data) = text.split_once(' ').expect("two words");
                let given = first.header("set-cookie").expect("a cookie");
                assert!(given.starts_with(&format!("PHPSESSID={id};")), "{given}");
                assert_eq!(data, r#"{"n":1}"#);
                ids.push(id.to_owned());
            }
            assert_ne!(ids[0], ids[1]);
            for n in 2..5 {
                for id in &ids {
                    let again = visit(&format!("Cookie: PHPSESSID={id}\r\n"));
                    assert_eq!(ok(&again), format!("{id} {{\"n\":{n}}}"));
                }
            }
            server.stop();
        }
    }
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
    for (code, expected) in [
        (
            "session_save_path(str_repeat('p', 800)); session_start()",
            "session.save_path has 800 bytes, more than 700",
        ),
        (
            "session_start(); $_SESSION['x'] = str_repeat('x', 1 << 20); session_write_close()",
            "half of cache.size: raise it, or store less",
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
        assert!(text.contains(expected), "{code}: {text}");
    }
    server.stop();
    let none = resident()
        .args(["--workers", "1", "--cache-size", "0"])
        .start();
    let text = run(&none, &message("session_start()"));
    assert!(
        text.contains("there is no cache: cache.size is 0"),
        "{text}"
    );
    none.stop();
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
