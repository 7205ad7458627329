//! Clients that are slow, leave, or bring much.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testkit::http::Client;
use testkit::{Server, cpu_time, descriptors};

use super::{balanced, busy_worker, busy_worker_of, metric, status, under_both, until_made};
use crate::support::{eventually, let_go, ok, one_of_three, resident};

#[test]
fn a_slow_upload_and_a_slow_download_occupy_no_worker() {
    let server = balanced(1).start();
    let mut upload = server.connect();
    upload.send("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n");
    let mut download = server.connect();
    download.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    download.head().expect("a head");
    let mut other = server.connect();
    for byte in 0..20 {
        upload.send([byte]);
        ok(&other.get("/"));
    }
    assert_eq!(ok(&upload.response()), "20");
    let mut at = 0;
    loop {
        let chunk = download.chunk().expect("a chunk");
        if chunk.is_empty() {
            break;
        }
        for byte in chunk {
            assert_eq!(usize::from(byte), 65 + at / 65536 % 26, "byte {at}");
            at += 1;
        }
    }
    assert_eq!(at, 320 * 65536);
    server.stop();
}

#[test]
fn a_large_upload_stays_out_of_memory() {
    let server = balanced(1).start();
    let pids = [server.fronts()[0], server.workers()[0]];
    ok(&server.get("/"));
    let before = pids.map(resident);
    let mut client = server.connect();
    let (piece, pieces) = (vec![b'z'; 1 << 20], 200);
    client.send(format!(
        "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        piece.len() * pieces
    ));
    (0..pieces).for_each(|_| client.send(&piece));
    assert_eq!(ok(&client.response()), (200 << 20).to_string());
    for (pid, before) in pids.into_iter().zip(before) {
        let grown = resident(pid).saturating_sub(before);
        assert!(grown < 16 << 20, "process {pid} has grown by {grown} bytes");
    }
    server.stop();
}

#[test]
fn an_upload_as_fast_as_can_be_holds_up_no_other() {
    let server = balanced(1).args(["--max-body", "0"]).start();
    let mut other = server.connect();
    ok(&other.get("/"));
    one_of_three(|| uploaded_beside(&server, &mut other));
    server.stop();
}

/// A large body as fast as it can be sent, and meanwhile what another client asks.
fn uploaded_beside(server: &Server, other: &mut Client) -> Result<(), String> {
    let over = AtomicBool::new(false);
    let (took, worst) = std::thread::scope(|scope| {
        let upload = scope.spawn(|| {
            let began = Instant::now();
            let mut client = server.connect();
            let (piece, pieces) = (vec![b'z'; 4 << 20], 100);
            client.send(format!(
                "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                piece.len() * pieces
            ));
            (0..pieces).for_each(|_| client.send(&piece));
            ok(&client.response());
            over.store(true, Ordering::Relaxed);
            began.elapsed()
        });
        let mut worst = Duration::ZERO;
        while !over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            ok(&other.get("/"));
            worst = worst.max(asked.elapsed());
        }
        (upload.join().expect("it is taken"), worst)
    });
    if worst < took / 4 {
        return Ok(());
    }
    Err(format!("{worst:?} of {took:?}"))
}

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

#[test]
fn an_upload_that_breaks_off_reaches_no_worker() {
    let server = balanced(1).start();
    let mut client = server.connect();
    client.send("POST /sleep HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
    drop(client);
    let mut stream = std::net::TcpStream::connect(server.address()).expect("it listens");
    stream
        .write_all(
            b"POST /sleep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        )
        .expect("it is sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.contains(" 400 "), "{answer}");
    ok(&server.get("/"));
    assert!(!server.directory().join("begun").exists());
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

#[test]
fn what_does_not_fit_in_a_slot_arrives_all_the_same() {
    let server = Server::script(
        r#"return function (Hearth\Request $request) {
            return new Hearth\Response($request->body(), 200, ['X-Long' => $request->header('x-long')]);
        };"#,
    )
    .args(["--concurrency", "1", "--workers", "1", "--max-header-size", "64K"])
    .start();
    let mut client = server.connect();
    for size in [
        0, 1, 15_000, 16_000, 16_384, 17_000, 40_000, 70_000, 300_000,
    ] {
        let head = size.min(60_000);
        let body: String = (0..size)
            .map(|n| char::from(b'a' + (n % 23) as u8))
            .collect();
        let long = "l".repeat(head);
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\nContent-Length: {size}\r\n\r\n{body}"
        ));
        let response = client.response();
        assert!(ok(&response) == body, "{size}");
        assert_eq!(response.header("x-long"), Some(&*long), "{size}");
    }
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
fn a_body_larger_than_bodies_may_be_is_refused() {
    for dispatch in ["balanced", "direct"] {
        let server = balanced(1)
            .args(["--dispatch", dispatch, "--max-body", "1000"])
            .start();
        let mut client = server.connect();
        client.send("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
        let refused = client.response();
        let why = "The request body is too large (http.max_body).\n";
        assert_eq!(
            (refused.status, refused.text()),
            (413, why.into()),
            "{dispatch}"
        );
        let chunk = format!("190\r\n{}\r\n", "x".repeat(400));
        let mut chunked = server.connect();
        chunked.send("POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        chunked.send(chunk.repeat(3));
        chunked.send("0\r\n\r\n");
        let refused = chunked.response();
        assert_eq!(
            (refused.status, refused.text()),
            (413, why.into()),
            "{dispatch}, in chunks"
        );
        // Of a chunk that is too large nothing has to come.
        let mut announced = server.connect();
        announced.send("POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        announced.send("3e9\r\n");
        let refused = announced.response();
        assert_eq!(
            (refused.status, refused.text()),
            (413, why.into()),
            "{dispatch}, a chunk that is announced"
        );
        let mut fits = server.connect();
        let body = "x".repeat(1000);
        fits.send(format!(
            "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{body}"
        ));
        assert_eq!(ok(&fits.response()), "1000");
        server.stop();
    }
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
