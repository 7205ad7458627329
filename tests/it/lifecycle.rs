//! Stopping, reloading, dying: what happens to the requests meanwhile.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::{Server, ServerBuilder};

use crate::support::traffic::under_load;
use crate::support::{
    TIMEOUT, UNTIL_GO, eventually, hearth, let_go, ok, one_of_three, one_worker, until_handled,
};

/// `/slow` takes until the test lets it go.
fn slow(workers: &str) -> ServerBuilder {
    Server::script(&format!(
        "return function ($r) {{ if ($r->path === '/slow') {{ {UNTIL_GO} return 'slow done'; }} return 'fine'; }};"
    ))
    .args(["--workers", workers])
}

#[test]
fn stop_finishes_the_requests_that_run() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = slow("1").start();
        let mut slow = server.connect();
        slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        let mut idle = server.connect();
        assert_eq!(ok(&idle.get("/")), "fine");
        server.signal(signal);
        server.expect_log("stopping");
        assert!(idle.is_closed_by_server(), "the worker knows");
        let_go(&server);
        let response = slow.response();
        assert_eq!(ok(&response), "slow done");
        assert_eq!(response.header("connection"), Some("close"));
        let status = server
            .wait_exit(TIMEOUT)
            .expect("it ends when the last request has");
        assert_eq!(status.code(), Some(0));
        server.stop();
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let mut server = one_worker("return function () { sleep(20); return 'x'; };").start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    server.signal(Signal::TERM);
    server.expect_log("stopping");
    assert!(
        server.wait_exit(Duration::from_millis(400)).is_none(),
        "it did not wait for the request"
    );
    server.signal(Signal::TERM);
    assert!(
        server.wait_exit(Duration::from_secs(15)).is_some(),
        "the second signal did not end it"
    );
}

#[test]
fn status_and_stop_through_the_control_socket() {
    let mut server = slow("2").start();
    assert_eq!(ok(&server.get("/")), "fine");
    let status = hearth(&server, &["status", "app.php"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert_eq!(
        status.status.code(),
        Some(0),
        "{text}{}",
        String::from_utf8_lossy(&status.stderr)
    );
    for worker in server.workers() {
        assert!(
            text.contains(&worker.to_string()),
            "no worker {worker} in\n{text}"
        );
    }
    let stop = hearth(&server, &["stop", "app.php"]);
    assert_eq!(
        stop.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&stop.stderr)
    );
    assert_eq!(
        server.wait_exit(TIMEOUT).and_then(|status| status.code()),
        Some(0)
    );
    let late = hearth(&server, &["status", "app.php"]);
    assert_eq!(late.status.code(), Some(1));
    server.stop();
}

#[test]
fn the_control_socket_is_for_its_user_only() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let server = slow("2").start();
    let sockets: Vec<_> = std::fs::read_dir(server.directory().join("hearth"))
        .expect("the runtime directory")
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .filter(|metadata| metadata.file_type().is_socket())
        .collect();
    assert_eq!(sockets.len(), 1);
    assert_eq!(sockets[0].permissions().mode() & 0o777, 0o600);
    server.stop();
}

#[test]
fn twenty_reloads_under_load_lose_no_request() {
    let server = Server::script("return function () { usleep(mt_rand(0, 2000)); return 'v' . trim(file_get_contents(__DIR__ . '/version')); };")
        .file("version", "1")
        .args(["--workers", "2"])
        .start();
    let first = server.workers();
    let reloads = || {
        for _ in 0..20 {
            let reload = hearth(&server, &["reload", "app.php"]);
            assert_eq!(reload.status.code(), Some(0), "{reload:?}");
        }
    };
    let (done, _) = under_load(&server, 4, "/", |_| false, reloads);
    assert!(done > 100, "only {done} requests: nothing was measured");
    assert!(
        first.iter().all(|pid| !server.workers().contains(pid)),
        "old workers are left"
    );
    server.stop();
}

#[test]
fn a_stop_does_not_wait_for_what_a_reload_waits_for() {
    one_of_three(|| {
        let mut server = one_worker("return fn () => (string) getmypid();").start();
        // For a moment an old worker still answers what an idle connection sends.
        let mut idle = server.connect();
        let old = ok(&idle.get("/"));
        server.signal(Signal::HUP);
        eventually("the new worker answers", || ok(&server.get("/")) != old);
        server.signal(Signal::TERM);
        let status = server.wait_exit(Duration::from_secs(1));
        server.stop();
        status
            .map(|_| ())
            .ok_or_else(|| "it waits for an idle connection".to_owned())
    });
}

/// It knew no setting, and had 30 seconds unless the supervisor killed it before.
#[test]
fn a_worker_that_leaves_by_itself_has_the_time_of_a_reload() {
    let server = one_worker(
        "return fn ($r) => match ($r->path) {
            '/session' => (string) posix_setsid(),
            '/slow' => (string) sleep(20),
        };",
    )
    .args(["--reload-timeout", "0.5"])
    .start();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    ok(&server.get("/session"));
    server.expect_log("worker leaves: a request has changed");
    server.expect_log("requests are cut off: time to finish is over");
    server.expect_log("time to finish is over: leaving with 1 connections open");
    server.stop();
}

#[test]
fn a_request_that_is_cut_off_is_cancelled() {
    for dispatch in ["direct", "balanced"] {
        let server = one_worker(
            "return function () { touch('began'); try { sleep(20); } finally { touch('finally'); } return ''; };",
        )
        .args(["--dispatch", dispatch, "--reload-timeout", "0.5"])
        .start();
        let mut slow = server.connect();
        slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        assert_finally_runs_at_the_deadline(server);
    }
}

/// A request of the server touches `began`, and `finally` in a `finally` block.
fn assert_finally_runs_at_the_deadline(server: Server) {
    let has = |name: &str| server.directory().join(name).exists();
    eventually("it runs", || has("began"));
    server.signal(Signal::HUP);
    server.expect_log("time to finish is over: leaving");
    eventually("its finally has run", || has("finally"));
    server.stop();
}

/// Code that runs after the response, or although its client has left. A second cancellation would end the wait in `finally`.
#[test]
fn what_runs_without_a_client_is_cancelled_once() {
    let code = r"return function ($request) {
        $wait = function () { touch('began'); try { sleep(20); } finally { usleep(50_000); touch('finally'); } };
        switch ($request->path) {
            case '/deferred': Hearth\defer($wait); break;
            case '/finished': echo 'early'; fastcgi_finish_request(); $wait(); break;
            case '/streamed': return (function () use ($wait) { yield 'early'; $wait(); })();
            case '/alone': ignore_user_abort(true); $wait(); break;
        }
        return '';
    };";
    for dispatch in ["direct", "balanced"] {
        for path in ["/deferred", "/finished", "/streamed", "/alone"] {
            let server = one_worker(code)
                .args(["--dispatch", dispatch, "--reload-timeout", "0.5"])
                .start();
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert_finally_runs_at_the_deadline(server);
        }
    }
}

#[test]
fn sighup_reloads_the_code() {
    let server =
        Server::script("$v = file_get_contents(__DIR__ . '/version'); return fn () => $v;")
            .file("version", "one")
            .args(["--workers", "1"])
            .start();
    assert_eq!(ok(&server.get("/")), "one");
    std::fs::write(server.directory().join("version"), "two").expect("a file can be written");
    server.signal(Signal::HUP);
    eventually("the new code answers", || ok(&server.get("/")) == "two");
    server.stop();
}

#[test]
fn a_reload_says_what_only_a_restart_changes() {
    let settings =
        |max: u32, slow: u32| format!("[cache]\nsize = {max}\n[log]\nslow_after = {slow}\n");
    let server = Server::script("return fn () => 'fine';")
        .file("hearth.toml", settings(4 << 20, 1))
        .args(["--workers", "1"])
        .start();
    let reload = || {
        let output = hearth(&server, &["reload", "app.php"]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    std::fs::write(server.directory().join("hearth.toml"), settings(8 << 20, 2)).expect("a file");
    let message = reload();
    assert!(
        message.ends_with("; changed, but only a restart changes it: cache.size\n"),
        "{message}"
    );
    std::fs::write(server.directory().join("hearth.toml"), settings(4 << 20, 3)).expect("a file");
    let message = reload();
    assert!(!message.contains("restart"), "{message}");
    server.stop();
}

#[test]
fn a_reload_that_fails_changes_nothing_and_says_so() {
    let server = Server::script("return fn () => 'old';")
        .args(["--workers", "1"])
        .start();
    std::fs::write(
        server.directory().join("app.php"),
        "<?php throw new Exception('broken release');",
    )
    .expect("a file");
    let reload = hearth(&server, &["reload", "app.php"]);
    assert_eq!(reload.status.code(), Some(1));
    let message = String::from_utf8_lossy(&reload.stderr).into_owned();
    assert!(message.contains("broken release"), "{message}");
    assert_eq!(ok(&server.get("/")), "old");
    server.stop();
}

#[test]
fn a_new_generation_must_answer_the_probe_before_it_serves() {
    let app = |answer: &str| {
        format!("<?php return fn ($request) => $request->path === '/health' ? {answer} : 'app';")
    };
    let server = Server::app("app.php")
        .file("app.php", app("'well'"))
        .args(["--workers", "2", "--probe", "/health"])
        .start();
    assert_eq!(ok(&server.get("/")), "app");
    let bad = app("new Hearth\\Response('no database', 503)").replace("'app'", "'bad'");
    std::fs::write(server.directory().join("app.php"), bad).expect("a file");
    let reload = hearth(&server, &["reload", "app.php"]);
    assert_eq!(reload.status.code(), Some(1));
    let message = String::from_utf8_lossy(&reload.stderr).into_owned();
    let expected =
        "GET /health (boot.probe) was answered with status 503, not 200 to 399:\nno database";
    assert!(message.contains(expected), "{message}");
    assert_eq!(ok(&server.get("/")), "app");
    server.stop();
    let refused = Server::app(".")
        .file("index.php", "<?php throw new Exception('not installed');")
        .args(["--probe", "/", "--workers", "1"])
        .try_start()
        .expect_err("the probe fails");
    assert_eq!(refused.status.code(), Some(1), "{}", refused.log);
    assert!(refused.log.contains("status 500"), "{}", refused.log);
}

#[test]
fn a_killed_worker_is_back_in_milliseconds() {
    let server = one_worker("return fn () => (string) getmypid();").start();
    one_of_three(|| {
        let before = ok(&server.get("/"));
        let start = Instant::now();
        testkit::kill(before.parse().expect("a pid"), Signal::KILL);
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let after = client
            .try_response(false)
            .map(|response| response.text())
            .unwrap_or_default();
        let took = start.elapsed();
        assert_ne!(after, before);
        eventually("it answers", || {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            client.try_response(false).is_ok()
        });
        if took < Duration::from_millis(500) {
            return Ok(());
        }
        Err(format!("{took:?}"))
    });
    server.expect_log("SIGKILL");
    server.stop();
}

#[test]
fn workers_leave_when_the_supervisor_is_killed() {
    let mut server = slow("2").start();
    let session = server.pid();
    server.signal(Signal::KILL);
    server.wait_exit(TIMEOUT).expect("SIGKILL ends it");
    eventually("no orphan is left", || {
        testkit::in_session(session).is_empty()
    });
    server.killed();
}
