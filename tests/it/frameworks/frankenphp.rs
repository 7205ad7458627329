//! FrankenPHP worker scripts, unchanged.

use testkit::Server;

use super::{app, memory_is_flat, one_at_a_time, serve};
use crate::support::ok;
use crate::support::user_agent::UserAgent;

const WORKER: &str = "frankenphp/worker.php";

#[test]
fn a_frankenphp_worker_script_answers() {
    let server = serve(app(WORKER)).start();
    one_at_a_time(&server, "frankenphp_handle_request()");
    let mut browser = UserAgent::new(server.address());
    assert_eq!(ok(&browser.get("/?name=Ada")), "hello Ada");
    assert_eq!(
        ok(&browser.post("/json?a[]=1", "b=2")),
        r#"{"get":{"a":["1"]},"post":{"b":"2"},"cookie":[],"body":"b=2"}"#
    );
    assert_eq!(
        ok(&browser.get("/server")),
        r#"["\/worker.php","worker.php","1","GET","\/worker.php","1","none"]"#
    );
    for (target, expected) in [
        ("/path", r#"["","\/worker.php","\/worker.php"]"#),
        (
            "/worker.php/path",
            r#"["\/path","\/worker.php\/path","\/worker.php"]"#,
        ),
    ] {
        assert_eq!(ok(&browser.get(target)), expected);
    }
    assert_eq!(
        ok(&browser.request("GET /headers HTTP/1.1\r\nX-Question: why\r\n", b"")),
        r#"["why","why","why","42"]"#
    );
    assert_eq!(
        ok(&browser.upload("/upload", &[], "content")),
        r#"["a.txt",7,"content"]"#
    );
    assert_eq!(browser.post("/login", "name=ada").status, 303);
    assert_eq!(ok(&browser.get("/me")), "ada");
    assert_eq!(ok(&server.get("/me")), "guest");
    let missing = browser.get("/404");
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (404, "nothing here")
    );
    assert_eq!(browser.get("/stream").chunks.concat(), b"one\ntwo\nthree\n");
    assert_eq!(ok(&browser.get("/fiber")), "first second");
    assert_eq!(
        ok(&browser.get("/nested")),
        "frankenphp_handle_request() called inside its own callback"
    );
    server.stop();
}

#[test]
fn a_frankenphp_callback_that_fails_leaves_the_loop_running() {
    let server = serve(app(WORKER)).start();
    let mut browser = UserAgent::new(server.address());
    let pid = ok(&browser.get("/pid"));
    let thrown = browser.get("/throw");
    assert_eq!(
        (thrown.status, thrown.text().as_str()),
        (500, "Internal Server Error\n")
    );
    server.expect_log("Uncaught RuntimeException: thrown on purpose");
    assert_eq!(ok(&browser.get("/exit")), "and out");
    assert_eq!(ok(&browser.get("/count")), "4");
    assert_eq!(ok(&browser.get("/pid")), pid);
    let stopped = server.stop();
    assert!(
        !stopped.log.contains("the script's handler"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_frankenphp_worker_script_that_breaks_is_replaced() {
    let server = serve(app(WORKER)).start();
    let pid = ok(&server.get("/pid"));
    assert_eq!(server.get("/fatal").status, 500);
    server.expect_log("worker leaves: a fatal error in PHP");
    let next = loop {
        let answer = server.get("/pid");
        if answer.status == 200 && answer.text() != pid {
            break answer;
        }
    };
    assert_ne!(ok(&next), pid);
    server.stop();
}

#[test]
fn what_a_frankenphp_script_does_after_a_request_comes_after_the_answer() {
    let server = serve(app(WORKER)).env("LOG_AFTER", "1").start();
    assert_eq!(ok(&server.get("/finish")), "answered");
    assert!(
        !server
            .log()
            .text()
            .contains("the work after the answer is done")
    );
    server.expect_log("the work after the answer is done");
    server.expect_log("after /finish");
    let stopped = server.stop();
    assert!(
        stopped.log.contains("last lines after 1 requests"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_frankenphp_worker_script_forgets_what_a_request_changed() {
    let server = serve(app(WORKER)).start();
    let clean = ok(&server.get("/state"));
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/mutate")), "changed");
        assert_eq!(ok(&server.get("/state")), clean);
    }
    memory_is_flat(&server, &["/", "/json", "/me", "/mutate", "/404", "/fiber"]);
    server.stop();
}

#[test]
fn a_frankenphp_loop_that_ends_is_replaced() {
    let server = serve(app(WORKER)).env("MAX_REQUESTS", "3").start();
    let mut pids = Vec::new();
    while pids.len() < 12 {
        let answer = server.get("/pid");
        // In direct dispatch a request can reach a worker whose loop has just ended.
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), Some("1"));
            continue;
        }
        pids.push(ok(&answer));
    }
    let mut workers = pids.clone();
    workers.dedup();
    assert!(workers.len() >= 4, "{pids:?}");
    server.expect_log("worker is replaced: its script has ended");
    let stopped = server.stop();
    assert!(
        stopped.log.contains("last lines after 3 requests"),
        "{}",
        stopped.log
    );
}

#[test]
fn a_frankenphp_loop_takes_one_request_at_a_time() {
    let stopped = serve(app(WORKER))
        .args(["--concurrency", "2"])
        .try_start()
        .expect_err("refused");
    assert!(
        stopped
            .log
            .contains("frankenphp_handle_request(), one after the other")
            && stopped.log.contains("hint: leave workers.concurrency out"),
        "{}",
        stopped.log
    );
}

#[test]
fn frankenphp_functions_outside_of_a_loop() {
    let server = Server::script(
        r#"return function () {
            try {
                frankenphp_handle_request(fn () => 1);
            } catch (RuntimeException $e) {
                return $e->getMessage() . isset($_SERVER['FRANKENPHP_WORKER']);
            }
        };"#,
    )
    .start();
    assert_eq!(
        ok(&server.get("/")),
        "frankenphp_handle_request() called while not in worker mode"
    );
    server.stop();
}
