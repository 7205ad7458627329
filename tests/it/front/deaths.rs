//! A worker dies, or the front does: what clients see of it.

use std::process::Command;

use rustix::process::Signal;
use testkit::http::Client;
use testkit::{Server, kill};

use super::{balanced, busy_worker, killed_under_load, metric, status};
use crate::support::{eventually, hearth, let_go, ok};

#[test]
fn a_worker_that_dies_takes_one_request_with_it() {
    let server = balanced(2).start();
    for signal in [Signal::KILL, Signal::SEGV] {
        for (method, expected) in [("POST", 502), ("GET", 200)] {
            let mut client = server.connect();
            let target = if method == "GET" { "/until" } else { "/sleep" };
            client.send(format!(
                "{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
            ));
            let busy = busy_worker(&server);
            // Of a SIGSEGV that nothing has caused, the first only disarms Rust's handler.
            eventually("it is dead", || {
                kill(busy, signal);
                !server.workers().contains(&busy)
            });
            let_go(&server);
            let response = client.response();
            assert_eq!(
                response.status,
                expected,
                "{method} {signal:?}: {}",
                response.text()
            );
            ok(&client.get("/"));
            std::fs::remove_file(server.directory().join("go")).expect("it was made");
        }
    }
    assert_eq!(metric(&server, "hearth_bad_gateway_total"), 2);
    assert_eq!(metric(&server, "hearth_retries_total"), 2);
    server.stop();
}

#[test]
fn a_response_that_breaks_off_never_looks_complete() {
    let server = balanced(1).start();
    let mut client = server.connect();
    client.send("GET /broken HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(client.try_response(false).is_err(), "it looked complete");
    // Without a length nothing but a reset can tell.
    let mut old = server.connect();
    old.send("GET /broken HTTP/1.0\r\n\r\n");
    assert!(old.take_rest().is_err(), "it looked complete");
    ok(&server.get("/"));
    server.stop();
}

#[test]
fn fifty_kills_under_load_lose_only_what_was_in_flight_there() {
    let server = balanced(8).start();
    let kills = 50;
    let (answered, failed) = killed_under_load(&server, 4, kills);
    assert!(failed <= kills, "{failed} of {answered} failed");
    assert!(answered > 10 * kills, "{answered}: there was hardly a load");
    assert_eq!(metric(&server, "hearth_bad_gateway_total"), failed as u64);
    server.stop();
}

#[test]
fn a_front_that_dies_is_replaced_and_its_workers_stay() {
    let server = balanced(2).start();
    let workers = server.workers();
    for _ in 0..2 {
        let front = server.fronts()[0];
        kill(front, Signal::KILL);
        server.expect_log("another takes its place");
        eventually("another runs", || {
            server.fronts().first().is_some_and(|pid| *pid != front)
        });
        let pid: u32 = ok(&server.get("/")).parse().expect("a pid");
        assert!(workers.contains(&pid), "a worker was lost with the front");
    }
    assert_eq!(server.workers(), workers);
    assert!(status(&server).contains("\"healthy\":true"));
    let words = hearth(&server, &["status", "app.php"]);
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains("\nfront       ready, pid "), "{words}");
    assert!(
        words.contains("restarts 2\nqueue       0 waiting; "),
        "{words}"
    );
    server.stop();
}

#[test]
fn what_waits_when_a_front_dies_is_not_run() {
    let server = balanced(1).start();
    let mut first = server.connect();
    first.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    busy_worker(&server);
    let mut waiting: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send("GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    eventually("all wait", || metric(&server, "hearth_queue_length") == 20);
    kill(server.fronts()[0], Signal::KILL);
    server.expect_log("another takes its place");
    let_go(&server);
    ok(&server.get("/"));
    assert!(!server.directory().join("count").exists());
    server.stop();
}

#[test]
fn a_worker_that_dies_loses_none_of_those_that_wait() {
    let server = balanced(1).start();
    let mut first = server.connect();
    first.send("POST /sleep HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    let busy = busy_worker(&server);
    let mut waiting: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    }
    eventually("all wait", || metric(&server, "hearth_queue_length") == 20);
    kill(busy, Signal::KILL);
    assert_eq!(first.response().status, 502);
    for client in &mut waiting {
        assert_ne!(ok(&client.response()), busy.to_string());
    }
    assert_eq!(metric(&server, "hearth_bad_gateway_total"), 1);
    server.stop();
}

#[test]
fn an_upload_in_a_file_is_given_to_a_second_worker() {
    let server = Server::script(
        r#"return function (Hearth\Request $request) {
            $body = $request->body();
            if (!file_exists('died')) { touch('died'); posix_kill(getmypid(), SIGKILL); }
            return $body;
        };"#,
    )
    .args(["--concurrency", "1", "--workers", "2"])
    .start();
    let body = "0123456789".repeat(20_000);
    let mut client = server.connect();
    client.send(format!(
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert!(ok(&client.response()) == body);
    server.stop();
}

/// `limit` as prlimit(1) has it: soft and hard, what is left out stays.
fn limit_descriptors(pid: u32, limit: &str) {
    let status = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--nofile={limit}")])
        .status();
    assert!(status.expect("prlimit runs").success(), "{pid}");
}

#[test]
fn a_worker_out_of_descriptors_says_why_it_takes_no_upload() {
    let server = Server::script(
        "return fn (Hearth\\Request $request) => (string) strlen($request->body());",
    )
    .args(["--concurrency", "1", "--workers", "1"])
    .start();
    let mut client = server.connect();
    let body = "x".repeat(200_000);
    ok(&client.get("/"));
    limit_descriptors(server.workers()[0], "1:");
    assert_eq!(client.post("/", "text/plain", &body).status, 502);
    server.expect_log("cannot take a request's files");
    limit_descriptors(server.workers()[0], "1024:");
    assert_eq!(ok(&client.post("/", "text/plain", &body)), "200000");
    server.stop();
}
