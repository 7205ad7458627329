//! Which request gets a worker, and when.

use std::time::{Duration, Instant};

use testkit::http::Client;

use super::{balanced, busy_worker, metric, until_made};
use crate::support::{eventually, let_go, ok};

#[test]
fn one_request_at_a_time_is_balanced_and_a_slow_one_holds_up_no_other() {
    let server = balanced(2).start();
    assert_eq!(server.fronts().len(), 1);
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.fronts()[0]));
    assert!(
        !maps.expect("it runs").contains("libphp"),
        "the front maps libphp"
    );
    let mut slow = server.connect();
    let mut others: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    slow.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    busy_worker(&server);
    let mut pids: Vec<String> = others
        .iter_mut()
        .map(|client| ok(&client.get("/")))
        .collect();
    pids.dedup();
    assert_eq!(pids.len(), 1);
    let_go(&server);
    assert_ne!(ok(&slow.response()), pids[0]);
    server.stop();
}

#[test]
fn requests_wait_in_order_and_beyond_the_queue_get_503() {
    let server = balanced(1).args(["--queue", "2"]).start();
    let mut clients: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
        match n {
            // On a busy machine it may come before the worker has said that it is idle, and counts as queued then.
            0 => drop(busy_worker(&server)),
            _ => eventually("it waits", || {
                metric(&server, "hearth_queue_length") == n as u64
            }),
        }
    }
    let refused = server.get("/");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(metric(&server, "hearth_queue_length"), 2);
    // A client that hangs up makes room.
    drop(clients.pop());
    eventually("it has left", || {
        metric(&server, "hearth_queue_length") == 1
    });
    let mut last = server.connect();
    last.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    clients.push(last);
    eventually("it waits", || metric(&server, "hearth_queue_length") == 2);
    let_go(&server);
    clients
        .iter_mut()
        .for_each(|client| drop(ok(&client.response())));
    assert_eq!(metric(&server, "hearth_queue_length"), 0);
    assert_eq!(metric(&server, "hearth_unavailable_total"), 1);
    server.stop();
}

#[test]
fn a_worker_that_accepts_has_a_queue_with_the_same_limits() {
    let limits = ["--dispatch=direct", "--queue=1", "--queue-timeout=0.4"];
    let server = balanced(1).args(limits).start();
    let mut first = server.connect();
    first.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    busy_worker(&server);
    let mut second = server.connect();
    let began = Instant::now();
    second.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("it waits", || metric(&server, "hearth_queued_total") == 1);
    let full = server.get("/");
    assert_eq!((full.status, full.header("retry-after")), (503, Some("1")));
    let late = second.response();
    assert_eq!((late.status, late.header("retry-after")), (503, Some("1")));
    assert!(began.elapsed() >= Duration::from_millis(400));
    assert_eq!(metric(&server, "hearth_unavailable_total"), 2);
    assert_eq!(metric(&server, "hearth_queue_timeouts_total"), 1);
    // The connections are good, and the queue has room again.
    second.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("it waits", || metric(&server, "hearth_queued_total") == 2);
    let_go(&server);
    ok(&first.response());
    ok(&second.response());
    server.stop();
}

#[test]
fn a_worker_with_deferred_work_is_not_idle() {
    let server = balanced(2).start();
    let mut client = server.connect();
    let busy = ok(&client.get("/later"));
    for _ in 0..5 {
        assert_ne!(ok(&client.get("/")), busy, "it had work to do");
    }
    let_go(&server);
    until_made(&server, "deferred");
    eventually("it is used again", || {
        let mut slow = server.connect();
        slow.send("GET /nap HTTP/1.1\r\nHost: x\r\n\r\n");
        // Only a pace: where it has not begun by then, or has ended, the attempt is made again.
        std::thread::sleep(Duration::from_millis(50));
        let quick = ok(&client.get("/"));
        let slow = ok(&slow.response());
        quick == busy || slow == busy
    });
    server.stop();
}
