//! Workers that are replaced while they are used: reloads, recycling, the end.

use std::sync::Mutex;

use rustix::process::Signal;
use testkit::Server;
use testkit::http::Client;

use super::{APP, balanced, busy_worker_of, metric};
use crate::support::traffic::{Done, meanwhile, under_load};
use crate::support::{TIMEOUT, eventually, hearth, let_go, ok};

#[test]
fn twenty_reloads_under_load_lose_nothing() {
    let server = balanced(2).start();
    let (answered, _) = under_load(
        &server,
        4,
        "/",
        |_| false,
        || {
            for _ in 0..20 {
                let reload = hearth(&server, &["reload", "app.php"]);
                assert_eq!(reload.status.code(), Some(0), "{reload:?}");
            }
        },
    );
    assert!(answered > 100, "{answered}");
    eventually("old workers leave", || server.workers().len() == 2);
    server.stop();
}

#[test]
fn workers_are_recycled_without_a_request_lost() {
    let ways = [
        ("balanced", "1", "--max-requests", "50", "/"),
        ("balanced", "1", "--max-memory", "16M", "/leak"),
        ("direct", "1", "--max-requests", "50", "/"),
        ("direct", "32", "--max-memory", "16M", "/leak"),
    ];
    for (dispatch, concurrency, limit, value, target) in ways {
        let server = Server::script(APP)
            .args([
                "--dispatch",
                dispatch,
                "--concurrency",
                concurrency,
                "--workers",
                "2",
            ])
            .args([
                limit,
                value,
                "--admin",
                "127.0.0.1:0",
                "--ini",
                "memory_limit=-1",
            ])
            .start();
        let pids = Mutex::new(std::collections::HashSet::new());
        let request = |_, done: &Done| {
            let mut client = server.connect();
            while !done.is_done() {
                let response = client.get(target);
                pids.lock().expect("no panic").insert(ok(&response));
                // In direct mode a worker that leaves takes its connections with it, politely.
                if response.header("connection") == Some("close") {
                    assert_eq!(dispatch, "direct");
                    client = server.connect();
                }
            }
        };
        meanwhile(4, request, || {
            eventually("three are recycled", || {
                metric(&server, "hearth_workers_recycled_total") >= 3
            });
        });
        let pids = pids.into_inner().expect("no panic").len();
        assert!(pids > 2, "{dispatch} {limit}: {pids} workers");
        assert_eq!(metric(&server, "hearth_worker_restarts_total"), 0);
        eventually("the old ones leave", || server.workers().len() == 2);
        server.stop();
    }
}

#[test]
fn what_runs_when_the_server_stops_is_finished() {
    let mut server = balanced(1).start();
    let mut idle = server.connect();
    ok(&idle.get("/"));
    let mut clients: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    eventually("two wait", || metric(&server, "hearth_queue_length") == 2);
    server.signal(Signal::TERM);
    server.expect_log("stopping");
    assert!(idle.is_closed_by_server());
    let_go(&server);
    for client in &mut clients {
        let response = client.response();
        ok(&response);
        assert_eq!(response.header("connection"), Some("close"));
    }
    assert!(server.wait_exit(TIMEOUT).is_some());
    server.stop();
}

#[test]
fn a_classic_sites_files_need_no_worker_and_its_workers_are_recycled() {
    let server = Server::app("www")
        .args(["--workers", "1", "--max-requests", "5", "--admin", "127.0.0.1:0"])
        .file("www/index.php", "<?php while (isset($_GET['wait']) && !file_exists('../go')) { usleep(5000); clearstatcache(); } echo getmypid();")
        .file("www/page.txt", "0123456789")
        .start();
    let mut slow = server.connect();
    slow.send("GET /?wait HTTP/1.1\r\nHost: x\r\n\r\n");
    busy_worker_of(&server, "www");
    let mut other = server.connect();
    for _ in 0..3 {
        assert_eq!(ok(&other.get("/page.txt")), "0123456789");
    }
    let_go(&server);
    ok(&slow.response());
    eventually("workers were recycled", || {
        ok(&other.get("/"));
        metric(&server, "hearth_workers_recycled_total") >= 3
    });
    assert_eq!(metric(&server, "hearth_worker_restarts_total"), 0);
    server.stop();
}
