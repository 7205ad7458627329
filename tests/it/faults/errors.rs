//! Errors of PHP: where they are shown, and where they are not.

use std::time::Duration;

use super::app;
use crate::support::{UNTIL_GO, admin, eventually, let_go, ok, one_worker, until_handled};

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
fn display_errors_shows_the_source_the_request_and_what_was_echoed() {
    let code = "return function ($r) {\n\
        if ($r->path === '/exception') { echo 'so far'; throw new RuntimeException('bad <b>'); } // here\n\
        if ($r->path === '/fatal') { eval('function hearth_twice() {} function hearth_twice() {}'); }\n\
        if ($r->path === '/memory') { return str_repeat('x', 1 << 30); } // too much\n\
        if ($r->path === '/own') { register_shutdown_function(fn () => print('<p>own page</p>')); str_repeat('x', 1 << 30); }\n\
        echo $undefined;\n\
        return $r->path === '/json' ? ['a' => 1] : '<p>body</p>';\n};";
    let server = one_worker(code)
        .args(["--display-errors", "-d", "memory_limit=64M"])
        .start();
    let page = |path: &str| {
        let mut client = server.connect();
        client.send(format!(
            "GET {path}?q=<i> HTTP/1.1\r\nHost: x\r\nX-Field: 7&8\r\nCookie: a=secret\r\n\r\n"
        ));
        client.response()
    };
    let exception = page("/exception");
    assert_eq!(exception.status, 500);
    for part in [
        "bad &lt;b&gt;",
        ">     2  ",
        "// here",
        "GET /exception?q=&lt;i&gt;",
        "X-Field: 7&amp;8",
        "so far",
    ] {
        assert!(
            exception.text().contains(part),
            "no {part} in {}",
            exception.text()
        );
    }
    assert!(!exception.text().contains("secret") && !exception.text().contains("<b>"));
    for (path, parts) in [
        ("/fatal", ["Cannot redeclare", "GET /fatal"]),
        ("/memory", ["Allowed memory size", "// too much"]),
    ] {
        let fatal = page(path);
        assert_eq!(fatal.status, 500);
        for part in ["<h1>Fatal error</h1>"].iter().chain(&parts) {
            assert!(fatal.text().contains(part), "no {part} in {}", fatal.text());
        }
    }
    assert!(page("/own").text().ends_with("<p>own page</p>"));
    let warned = ok(&page("/"));
    assert!(
        warned.contains("Warning: Undefined variable $undefined")
            && warned.ends_with("<p>body</p>"),
        "{warned}"
    );
    assert_eq!(ok(&page("/json")), r#"{"a":1}"#);
    server.stop();
}

#[test]
fn exit_ends_its_request_only() {
    let server = app().start();
    let pid = ok(&server.get("/pid"));
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/exit")), "before");
    assert_eq!(ok(&server.get("/exit-text")), "bye");
    assert_eq!(server.get("/exit-code").status, 404);
    assert_eq!(ok(&server.get("/exit-deep")), "deep");
    let_go(&server);
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
    until_handled(&server, 1);
    assert_eq!(server.get(path).status, 500);
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow done");
    server.expect_log(logged);
    eventually("the worker is replaced", || ok(&server.get("/pid")) != pid);
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

/// The engine goes on behind it, on a process that is not sound any more.
#[test]
fn a_fatal_error_in_a_shutdown_function_is_a_500_and_the_worker_is_replaced() {
    fatal("/memory-shutdown", "Allowed memory size");
}

#[test]
fn endless_recursion_does_not_take_the_server_down() {
    let server = app().start();
    let mut client = server.connect();
    client.send("GET /stack HTTP/1.1\r\nHost: x\r\n\r\n");
    if let Ok(response) = client.try_response(false) {
        assert_eq!(response.status, 500);
    }
    eventually("a worker answers", || {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = client.try_response(false);
        answer.is_ok_and(|response| response.status == 200)
    });
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
fn control_characters_do_not_reach_the_log() {
    let app = r#"return function () { error_log("begun\r\x1b[31m\n2026-01-01 ERROR forged\x7f\u{9b}2J end"); return 'ok'; };"#;
    let server = one_worker(app).start();
    ok(&server.get("/"));
    let line = server.expect_log("begun");
    let expected = r"begun\r\x1b[31m\n2026-01-01 ERROR forged\x7f\u{9b}2J end";
    assert!(line.contains(expected), "{line}");
    server.stop();
}

/// Uncaught exceptions outside of the handler's own code: in tasks that are not awaited, and in timers.
const UNCAUGHT: &str = r#"
class Own extends Exception { function __toString(): string { usleep(1000); return 'described by itself'; } }
class Worse extends Exception { function __toString(): string { throw new Exception('not me'); } }
return function (Hearth\Request $request) {
    static $kept;
    $fail = function () { throw new LogicException("first\nsecond", 7, new RuntimeException('the cause')); };
    switch ($request->path) {
        case '/async': error_log('asked'); Hearth\async($fail); break;
        case '/later': error_log('asked'); Hearth\async(function () use ($fail) { usleep(1000); $fail(); }); break;
        case '/background': Hearth\background($fail); break;
        case '/timer': Hearth\after(0.001, $fail); usleep(5000); break;
        case '/keep': error_log('asked'); $kept = Hearth\async($fail); break;
        case '/drop': $kept = null; break;
        case '/own': Hearth\async(fn () => throw new Own()); break;
        case '/worse': Hearth\async(fn () => throw new Worse()); break;
        case '/pending': try { (function () { $task = Hearth\async(fn () => throw new Worse()); throw new DomainException('pending'); })(); }
            catch (DomainException $e) { return $e->getMessage(); }
        case '/awaited': try { Hearth\async($fail)->await(); } catch (LogicException) {} break;
        case '/cancelled': $task = Hearth\async(fn () => sleep(20)); $task->cancel(); unset($task); break;
    }
    return 'fine';
};"#;

/// The id that a line of the log is about.
fn request_of(line: &str) -> Option<&str> {
    line.split_once(" request=").map(|(_, id)| id)
}

#[test]
fn an_exception_that_is_not_awaited_is_logged_as_one_that_is_not_caught() {
    for path in ["/async", "/later", "/background", "/timer"] {
        let server = one_worker(UNCAUGHT).start();
        assert_eq!(ok(&server.get(path)), "fine");
        let line = server.expect_log("LogicException");
        assert!(line.contains(" ERROR worker[0]: Uncaught "), "{line}");
        for part in [
            "RuntimeException: the cause in ",
            r"\n\nNext LogicException: first\nsecond in ",
            "app.php:6",
            r"\n#0 ",
        ] {
            assert!(line.contains(part), "{path}: no {part:?} in {line}");
        }
        assert_eq!(
            line.contains(r"\n  thrown in a task that was never awaited"),
            path != "/timer",
            "{path}: {line}"
        );
        // Background tasks and timers are no request's.
        let marker = server.log().wait("asked", Duration::ZERO);
        assert_eq!(
            request_of(&line),
            marker.as_deref().and_then(request_of),
            "{path}: {line}"
        );
        server.stop();
    }
}

#[test]
fn an_exception_that_is_not_awaited_counts_for_its_own_request() {
    let server = one_worker(UNCAUGHT)
        .args(["--admin", "127.0.0.1:0"])
        .start();
    ok(&server.get("/keep"));
    ok(&server.get("/drop"));
    let line = server.expect_log("LogicException");
    assert!(request_of(&line).is_some(), "{line}");
    assert_eq!(request_of(&line), request_of(&server.expect_log("asked")));
    let metrics = admin(&server, "/metrics").text();
    assert!(metrics.contains("hearth_exceptions_total 1\n"), "{metrics}");
    server.stop();
}

#[test]
fn an_exception_that_is_not_awaited_may_describe_itself() {
    let server = one_worker(UNCAUGHT).start();
    ok(&server.get("/own"));
    server.expect_log(r"Uncaught described by itself\n  thrown in a task");
    ok(&server.get("/worse"));
    server.expect_log(r"Uncaught Worse\n  thrown in a task");
    let before = server.log().lines().len();
    assert_eq!(ok(&server.get("/pending")), "pending");
    let line = server
        .log()
        .wait_from(before, "Uncaught Worse", Duration::from_secs(10));
    assert!(line.is_some(), "{}", server.log().text());
    server.stop();
}

#[test]
fn an_exception_of_a_task_that_is_awaited_or_cancelled_is_not_logged() {
    let server = one_worker(UNCAUGHT).start();
    ok(&server.get("/awaited"));
    ok(&server.get("/cancelled"));
    let stopped = server.stop();
    assert!(!stopped.log.contains("Uncaught"), "{}", stopped.log);
}

/// Where a task must not be left, others may be started, on top of it: the end of one of these is not the end of that.
#[test]
fn a_fatal_error_in_a_child_that_a_destructor_started_leaves_the_others_their_waits() {
    let app = r#"class Ends { public $self; function __destruct() { $GLOBALS['end'](); } }
        spl_autoload_register(fn ($class) => str_starts_with($class, 'Missing') && $GLOBALS['end']());
        $waits = function () {
            $channel = new Hearth\Channel();
            Hearth\async(fn () => $channel->send('it waits', 5));
            return $channel->receive(5);
        };
        return function ($request) use ($waits) {
            if ($request->path === '/slow') {
                UNTIL_GO
                return $waits();
            }
            $GLOBALS['end'] = function () use ($request) {
                $start = fn () => Hearth\async(fn () => str_repeat('x', 1 << 30));
                $request->path === '/twice' ? [Hearth\async($start), Hearth\async($start)] : $start();
            };
            switch ($request->path) {
                case '/autoloader': class_exists('Missing'); break;
                case '/collector': $object = new Ends(); $object->self = $object; unset($object); gc_collect_cycles(); break;
                default: $object = new Ends(); $object = null;
            }
            return $waits();
        };"#
    .replace("UNTIL_GO", UNTIL_GO);
    for path in ["/destructor", "/twice", "/autoloader", "/collector"] {
        // Workers that keep breaking are restarted with back-off.
        let server = one_worker(&app)
            .args(["--ini", "memory_limit=64M", "--request-grace", "30"])
            .start();
        let mut slow = server.connect();
        slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        assert_eq!(server.get(path).text(), "it waits", "{path}");
        let_go(&server);
        assert_eq!(ok(&slow.response()), "it waits", "{path}");
        drop(slow);
        server.stop();
    }
}

/// The autoloaders are called with the types of a class that is linked, after its link.
#[test]
fn a_fatal_error_while_a_class_is_linked_leaves_others_their_autoloads() {
    let app = r#"spl_autoload_register(function ($class) {
            $GLOBALS['loads'][] = $class;
            if ($class === 'FirstEnds') { trigger_error('own', E_USER_ERROR); }
            if ($class === 'Loaded') { eval('class Loaded extends Base { function one(): Base {} function two(): Base {} }'); }
        });
        abstract class Base { abstract function one(): Base; abstract function two(): Base; }
        return function ($request) {
            if ($request->path === '/fatal') {
                eval('class Ends extends Base { function one(): FirstEnds {} function two(): SecondEnds {} }');
            }
            UNTIL_GO
            $GLOBALS['loads'] = [];
            eval('class Own extends Base { function one(): Loaded {} function two(): Base {} }');
            return implode(' ', $GLOBALS['loads']);
        };"#
    .replace("UNTIL_GO", UNTIL_GO);
    let server = one_worker(&app).start();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/fatal").status, 500);
    let_go(&server);
    assert_eq!(ok(&slow.response()), "Loaded");
    drop(slow);
    server.stop();
}
