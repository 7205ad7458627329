//! Connections of clients: what belongs to one, when it is closed, what idle ones cost.

use std::time::Duration;

use testkit::{Server, cpu_time, descriptors};

use super::{balanced, busy_worker, metric, status, under_both};
use crate::support::{eventually, let_go, ok, one_of_three};

#[test]
fn what_belongs_to_a_connection_stays_there() {
    let server = Server::script(
        r#"return fn () => json_encode([$_SERVER['REMOTE_ADDR'], $_SERVER['SERVER_PROTOCOL'], $_SERVER]);"#,
    )
    .args(["--concurrency", "1", "--workers", "1"])
    .start();
    let mut client = server.connect();
    client.send(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade, X-Hop\r\nUpgrade: websocket\r\nX-Hop: 1\r\n\
         Keep-Alive: timeout=9\r\nTE: trailers\r\nX-Kept: 1\r\n\r\n",
    );
    let text = ok(&client.response()).to_lowercase();
    assert!(text.starts_with(r#"["127.0.0.1","http\/1.1","#), "{text}");
    for gone in ["websocket", "http_x_hop", "timeout=9", "trailers"] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    assert!(text.contains("http_x_kept"), "{text}");
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert!(ok(&client.response()).contains(r"HTTP\/1.0"));
    let mut proxy = server.connect();
    proxy.send("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
    assert_eq!(proxy.response().status, 405);
    server.stop();
}

#[test]
fn the_app_may_close_its_clients_connection() {
    let server = balanced(1).start();
    let mut client = server.connect();
    let response = client.get("/close");
    assert_eq!(
        (ok(&response).as_str(), response.header("connection")),
        ("bye", Some("close"))
    );
    assert!(response.header("hearth-worker").is_none());
    assert!(client.is_closed_by_server());
    let workers = server.workers();
    ok(&server.get("/"));
    assert_eq!(server.workers(), workers);
    server.stop();
}

fn until_idle(server: &Server) {
    eventually("all is answered", || {
        !status(server).contains("\"in_flight\":1")
    });
}

#[test]
fn an_idle_front_uses_no_cpu_and_keeps_no_descriptors() {
    let server = balanced(2).start();
    let front = server.fronts()[0];
    let mut idle = server.connect();
    ok(&idle.get("/"));
    for target in ["/until", "/big", "/sleep", "/later"] {
        // Or the worker that is seen to be busy is that of the request before.
        until_idle(&server);
        let mut leaves = server.connect();
        leaves.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        match target {
            "/big" | "/later" => drop(leaves.head()),
            _ => drop(busy_worker(&server)),
        }
        drop(leaves);
    }
    let_go(&server);
    until_idle(&server);
    eventually("what clients left is closed", || {
        let open = descriptors(front);
        let sockets = open.iter().filter(|fd| fd.contains("socket:")).count();
        // Channel (twice: it is the standard input too), listener, reactor's wake-ups, the idle client; per worker a
        // door and a stream. No file but the memory that is shared with workers.
        let files = open.iter().filter(|fd| fd.contains("deleted"));
        sockets <= 3 + 3 + 1 + 2 * 2 && files.count() == 1
    });
    one_of_three(|| {
        let used = || cpu_time(front).expect("it runs");
        let before = used();
        std::thread::sleep(Duration::from_millis(500));
        let used = used().saturating_sub(before);
        if used <= Duration::from_millis(20) {
            return Ok(());
        }
        Err(format!("{used:?} of CPU in half a second"))
    });
    ok(&idle.get("/"));
    server.stop();
}

/// Both at once: each takes as long as its limits.
#[test]
fn who_stops_sending_or_reading_is_cut_off_and_who_is_slow_is_not() {
    std::thread::scope(|scope| {
        for dispatch in ["balanced", "direct"] {
            scope.spawn(move || stops_or_is_slow(dispatch));
        }
    });
}

fn stops_or_is_slow(dispatch: &str) {
    let server = balanced(1)
        .args([
            "--dispatch",
            dispatch,
            "--body-timeout=3",
            "--send-timeout=3",
        ])
        .start();
    let mut stalled = server.connect();
    stalled.send("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
    let mut unread = server.connect();
    unread.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    unread.head().expect("a head");
    let mut slow = server.connect();
    slow.send("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
    // In all longer than the limit, and more than a look at it after that.
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(450));
        slow.send("x");
    }
    assert_eq!(ok(&slow.response()), "10", "{dispatch}");
    assert_eq!(stalled.response().status, 408, "{dispatch}");
    assert!(stalled.is_closed_by_server(), "{dispatch}");
    let mut read = 0;
    while let Ok(chunk) = unread.chunk()
        && !chunk.is_empty()
    {
        read += chunk.len();
    }
    assert!(read < 320 * 65536, "{dispatch}: all of {read} bytes came");
    server.stop();
}

#[test]
fn requests_that_reach_no_handler_are_counted_too() {
    let words = [
        "--admin",
        "127.0.0.1:0",
        "--max-body",
        "1000",
        "--ini",
        "post_max_size=100",
    ];
    under_both("return fn () => 'ok';", words, |server, dispatch| {
        ok(&server.get("/"));
        let long = "x".repeat(70_000);
        for (request, status) in [
            ("nonsense\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 405),
            (format!("GET /{long} HTTP/1.1\r\nHost: h\r\n\r\n"), 414),
            (
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n".to_owned(),
                413,
            ),
            (
                format!(
                    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200\r\n\r\n{}",
                    &long[..200]
                ),
                413,
            ),
        ] {
            let mut client = server.connect();
            client.send(&request);
            assert_eq!(
                client.response().status,
                status,
                "{dispatch}: {request:.40}"
            );
        }
        let counted = ["4xx", "2xx"].map(|class| {
            metric(
                &server,
                &format!("hearth_responses_total{{class=\"{class}\"}}"),
            )
        });
        assert_eq!(counted, [6, 1], "{dispatch}");
        server.stop();
    });
}
