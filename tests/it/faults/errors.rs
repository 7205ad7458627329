//! Errors of PHP: who sees them, and who does not.

use super::app;
use crate::support::{eventually, let_go, ok, one_worker, until_handled};

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
