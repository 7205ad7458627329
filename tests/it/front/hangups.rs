//! Clients that hang up, stop sending, or do not wait for an answer.

use std::net::Shutdown;

use testkit::Server;

use super::{balanced, busy_worker_of, metric, until_made};
use crate::support::{eventually, let_go, ok};

#[test]
fn a_client_that_hangs_up_cancels_its_request_and_frees_its_worker() {
    let server = balanced(1).start();
    let mut client = server.connect();
    client.send("GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n");
    until_made(&server, "begun");
    drop(client);
    until_made(&server, "ended");
    ok(&server.get("/"));
    server.stop();
}

/// Behind the front too an end of sending is no reason not to answer, unless the answer has to be waited for.
#[test]
fn a_client_that_ends_its_sending_gets_its_answer() {
    let site = Server::app("www")
        .args(["--workers", "1", "--admin", "127.0.0.1:0"])
        .file("www/index.php", "<?php echo 'classic';");
    for server in [balanced(1), site] {
        let server = server.start();
        for method in ["GET", "POST"] {
            // A worker that has just answered is not idle yet, and what is safe to leave out is not run then.
            for _ in 0..10 {
                eventually("it is answered", || ends_its_sending(&server, method));
            }
        }
        server.stop();
    }
}

/// Whether it is answered. What changes something always is.
fn ends_its_sending(server: &Server, method: &str) -> bool {
    let mut client = server.connect();
    client.send(format!(
        "{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    ));
    let _ = client.stream().shutdown(Shutdown::Write);
    let answer = match client.try_response(false) {
        Err(_) if method == "GET" => return false,
        answer => answer.expect("an answer"),
    };
    ok(&answer);
    client.is_closed_by_server()
}

/// Sends and does not wait: how WordPress starts its cron jobs.
fn fire_and_forget(server: &Server, request: &str) {
    let mut client = server.connect();
    client.send(format!(
        "{request} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    ));
}

#[test]
fn what_a_client_does_not_wait_for_is_run() {
    let site = || {
        Server::app("www")
        .args(["--workers", "1", "--admin", "127.0.0.1:0"])
        .file(
            "www/index.php",
            "<?php chdir('..'); match ($_SERVER['REQUEST_URI']) {
                '/count', '/count/kept' => file_put_contents('count', 'x', FILE_APPEND),
                '/until' => (function () { while (!file_exists('go')) { usleep(5000); clearstatcache(); } })(),
                default => print('fine'),
            };",
        )
    };
    for (server, app) in [
        (balanced(1), "app.php"),
        (balanced(1).arg("--dispatch=direct"), "app.php"),
        (site(), "www"),
        (site().arg("--dispatch=direct"), "www"),
    ] {
        let server = server.arg("--ignore-client-abort=/count/kept").start();
        let counted = || {
            let text = std::fs::read_to_string(server.directory().join("count"));
            text.map_or(0, |text| text.len())
        };
        for _ in 0..20 {
            fire_and_forget(&server, "POST /count");
        }
        eventually("those that found the worker idle ran", || counted() == 20);
        let mut first = server.connect();
        first.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
        busy_worker_of(&server, app);
        let mut leaves = server.connect();
        leaves.send("GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
        let _ = leaves.stream().shutdown(Shutdown::Write);
        assert!(leaves.try_response(false).is_err(), "it is dropped");
        let waited = metric(&server, "hearth_queued_total");
        for _ in 0..10 {
            fire_and_forget(&server, "POST /count");
            fire_and_forget(&server, "GET /count/kept");
        }
        eventually("all wait", || {
            metric(&server, "hearth_queued_total") == waited + 20
        });
        let_go(&server);
        ok(&first.response());
        eventually("those that waited ran", || counted() == 40);
        ok(&server.get("/"));
        assert_eq!(counted(), 40, "what was dropped is not run");
        server.stop();
    }
}
