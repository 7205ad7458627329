//! How sessions end: destroyed by another, collected, or with ids that are none.

use std::time::Duration;

use super::{begun, classic, resident};
use crate::support::{hearth, let_go, ok, one_worker, run, until_handled};

/// A visitor who is logged out stays so, also if one of his requests is under way and has the session open.
#[test]
fn a_session_that_is_destroyed_while_it_is_open_is_not_written_again() {
    let by_an_operator = |server: &testkit::Server| {
        let output = hearth(server, &["cache", "clear", "app.php", "--sessions"]);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "1 sessions have ended\n"
        );
    };
    let by_the_app = |server: &testkit::Server| {
        let code = "return (new Hearth\\Session(session_save_path()))->destroy('shared');";
        assert_eq!(run(server, code), "true");
    };
    let ways: [&dyn Fn(&testkit::Server); 2] = [&by_an_operator, &by_the_app];
    for lazy in ["$_SESSION['late'] = true;", ""] {
        for end in ways {
            let server = resident().args(["--workers", "1"]).start();
            assert_eq!(run(&server, "return $count();"), "1");
            let code = format!(
                "session_id('shared'); session_start(); UNTIL_GO {lazy} return [session_write_close(), error_get_last()];"
            );
            let mut late = begun(&server, &code);
            until_handled(&server, 1);
            end(&server);
            let_go(&server);
            assert_eq!(ok(&late.response()), "[true,null]");
            let code = "session_id('shared'); session_start(); return $_SESSION;";
            assert_eq!(run(&server, code), "[]");
            server.stop();
        }
    }
}

/// The destructor of an object in the session runs at the end of the request, as part of it.
#[test]
fn an_object_of_the_session_is_destroyed_while_the_request_has_its_variables() {
    let app = r"final class Visit { public function __destruct() { error_log('destroyed by ' . json_encode($_GET)); } }
        return function () { session_save_path(__DIR__); session_start(); $_SESSION['visit'] = new Visit(); return $_GET['from']; };";
    let server = one_worker(app).start();
    ok(&server.get("/?from=a"));
    server.expect_log(r#"destroyed by {"from":"a"}"#);
    server.stop();
}

/// What is collected while a request has it open is written at that request's end: with files it would be lost.
#[test]
fn a_session_that_is_in_use_outlives_its_collection() {
    let collects = "ini_set('session.gc_maxlifetime', '1'); ini_set('session.gc_probability', '1'); ini_set('session.gc_divisor', '1');";
    for (change, after) in [("$_SESSION['n']++;", "2"), ("", "1")] {
        let server = resident().args(["--workers", "2"]).start();
        let begin = format!("{collects} session_id('shared'); session_start();");
        assert_eq!(
            run(&server, &format!("{begin} return $_SESSION['n'] = 1;")),
            "1"
        );
        let mut long = begun(
            &server,
            &format!("{begin} UNTIL_GO {change} return $_SESSION;"),
        );
        until_handled(&server, 1);
        std::thread::sleep(Duration::from_millis(1100));
        // Both of these collect: at the start, and by hand, which finds nothing more.
        let other =
            format!("{collects} session_id('other'); session_start(); return session_gc();");
        assert_eq!(run(&server, &other), "0");
        let_go(&server);
        assert_eq!(ok(&long.response()), format!("{{\"n\":{after}}}"));
        assert_eq!(
            run(&server, &format!("{begin} return $_SESSION['n'];")),
            after
        );
        server.stop();
    }
}

#[test]
fn a_lifetime_of_nothing_is_told() {
    let server = resident().args(["--workers", "1"]).start();
    let code = "ini_set('session.gc_maxlifetime', '0'); return $count();";
    assert_eq!(run(&server, code), "1");
    assert_eq!(run(&server, code), "1");
    server.expect_log("session.gc_maxlifetime is 0, so each session ends as soon as it is written");
    server.stop();
}

/// With strict mode a client gets an id for whatever it sends, without a warning that an app would take for an error of its own.
#[test]
fn an_id_that_is_none_is_replaced_without_a_warning() {
    for way in [resident(), classic()] {
        let server = way.args(["--workers", "1"]).start();
        for id in [
            "str_repeat('a', 300)",
            "\"a\\0b\"",
            "'no such id'",
            "'../etc'",
            "'unknown'",
        ] {
            let code = format!(
                "ini_set('session.use_strict_mode', '1'); session_id({id}); $_COOKIE = []; $started = session_start();
                return [$started, session_id() === {id}, strlen(session_id()) > 20, error_get_last()];"
            );
            assert_eq!(run(&server, &code), "[true,false,true,null]", "{id}");
            let code =
                format!("return [(new Hearth\\Session)->validateId({id}), error_get_last()];");
            assert_eq!(run(&server, &code), "[false,null]", "{id}");
        }
        server.stop();
    }
}
