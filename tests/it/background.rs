//! Background work of requests, when its worker leaves.

use std::time::Duration;

use rustix::process::Signal;
use testkit::{Server, ServerBuilder};

use crate::support::{TIMEOUT, UNTIL_GO, eventually, let_go, ok, one_worker};

/// `/work` begins background work of three kinds, which ends when the test lets it go.
fn app(dispatch: &str) -> ServerBuilder {
    let code = format!(
        r"$work = function (string $name) {{ {UNTIL_GO} touch($name); }};
        return function ($request) use ($work) {{
            switch ($request->path) {{
                case '/work':
                    Hearth\background($work, 'of-request');
                    Hearth\async(fn () => Hearth\background($work, 'of-child'))->await();
                    Hearth\background(function () use ($work) {{
                        usleep(1000);
                        Hearth\async(fn () => Hearth\background($work, 'of-work'));
                    }});
                    break;
                case '/fatal': eval('class A {{}} class A {{}}');
            }}
            return (string) getmypid();
        }};"
    );
    one_worker(&code).args(["--dispatch", dispatch])
}

fn has(server: &Server, name: &str) -> bool {
    server.directory().join(name).exists()
}

fn all_is_done(server: &Server) -> bool {
    ["of-request", "of-child", "of-work"]
        .iter()
        .all(|name| has(server, name))
}

fn a_successor_answers(server: &Server, old: &str) {
    eventually("another worker answers", || {
        let answer = server.get("/");
        answer.status == 200 && answer.text() != old
    });
}

#[test]
fn it_is_finished_after_a_reload() {
    for dispatch in ["direct", "balanced"] {
        let server = app(dispatch).start();
        let old = ok(&server.get("/work"));
        server.signal(Signal::HUP);
        a_successor_answers(&server, &old);
        let_go(&server);
        eventually("all work is done", || all_is_done(&server));
        server.stop();
    }
}

#[test]
fn it_is_finished_before_the_server_ends() {
    for dispatch in ["direct", "balanced"] {
        let mut server = app(dispatch).start();
        ok(&server.get("/work"));
        server.signal(Signal::TERM);
        server.expect_log("stopping");
        assert!(server.wait_exit(Duration::from_millis(300)).is_none());
        let_go(&server);
        let status = server.wait_exit(TIMEOUT).expect("it ends after that");
        assert_eq!(status.code(), Some(0));
        assert!(all_is_done(&server), "work was lost");
        server.stop();
    }
}

#[test]
fn it_is_finished_by_a_worker_that_is_replaced() {
    for (request, most) in [("/fatal", "0"), ("/", "2")] {
        let server = app("balanced").args(["--max-requests", most]).start();
        let old = ok(&server.get("/work"));
        server.get(request);
        a_successor_answers(&server, &old);
        let_go(&server);
        eventually("all work is done", || all_is_done(&server));
        server.stop();
    }
}

#[test]
fn what_takes_longer_than_the_time_to_finish_is_cancelled() {
    let server = one_worker(
        "return function () {
            Hearth\\background(function () { try { sleep(60); } finally { touch('finally'); } });
            return (string) getmypid();
        };",
    )
    .args(["--reload-timeout", "0.5"])
    .start();
    ok(&server.get("/"));
    server.signal(Signal::HUP);
    server.expect_log("background work is cut off: time to finish is over tasks=1");
    eventually("it was cancelled", || has(&server, "finally"));
    server.stop();
}

/// A consumer of a queue, for example, which runs for as long as its worker does.
#[test]
fn a_worker_does_not_wait_for_endless_work_of_a_timer() {
    let mut server = one_worker(
        "$endless = function () { touch('began'); while (true) { usleep(5000); } };
        Hearth\\after(0, $endless);
        Hearth\\after(0, fn () => Hearth\\background($endless));
        return fn () => 'fine';",
    )
    .start();
    eventually("it runs", || has(&server, "began"));
    server.signal(Signal::TERM);
    let status = server.wait_exit(Duration::from_secs(10));
    assert!(status.is_some(), "the server waits for a timer");
    server.stop();
}
