//! Balanced dispatch: who waits for whom, what is lost when a process dies, and who is occupied by whom.

use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use testkit::http::{Client, Response};
use testkit::{Server, ServerBuilder, cpu_time, descriptors, kill};

use crate::support::{eventually, hearth, memory, ok};

const APP: &str = r#"return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/nap': usleep(300000); break;
        case '/until': while (!file_exists('go')) { usleep(5000); clearstatcache(); } break;
        case '/sleep':
            touch('begun');
            try { sleep(20); } finally { touch('ended'); }
            break;
        case '/big': return (function () { for ($n = 0; $n < 320; $n++) { yield str_repeat(chr(65 + $n % 26), 65536); } })();
        case '/leak': $GLOBALS['leak'][] = str_repeat('x', 1 << 20); break;
        case '/later': Hearth\defer(function () { usleep(300000); touch('deferred'); }); break;
        case '/broken': return (function () { yield str_repeat('x', 100000); usleep(100000); posix_kill(getmypid(), SIGKILL); yield 'never'; })();
        case '/close': return new Hearth\Response('bye', 200, ['Connection' => 'close']);
        case '/upload':
            for ($size = 0, $stream = $request->stream(); !feof($stream);) { $size += strlen(fread($stream, 65536)); }
            return (string) $size;
    }
    return (string) getmypid();
};"#;

/// Workers that serve one request at a time, behind the front.
fn balanced(workers: u32) -> ServerBuilder {
    Server::script(APP)
        .args(["--concurrency", "1", "--workers"])
        .arg(workers.to_string())
        .args(["--ini", "post_max_size=0", "--admin", "127.0.0.1:0"])
}

/// A number from the admin server's metrics.
fn metric(server: &Server, name: &str) -> u64 {
    let line = server.expect_log("hearth: admin on http://");
    let address = line.rsplit('/').next().expect("an address");
    let page = ok(&Client::connect(address).get("/metrics"));
    let prefix = format!("{name} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&prefix));
    let value = value.unwrap_or_else(|| panic!("no {name} in {page}"));
    value.parse().expect("a number")
}

/// Let requests for `/until` end.
fn go(server: &Server) {
    std::fs::write(server.directory().join("go"), "").expect("a file");
}

/// Until the handler has made this file.
fn until_made(server: &Server, name: &str) {
    let path = server.directory().join(name);
    eventually(name, || path.exists());
}

/// GETs on so many connections at the same time until `work` is done; asserts that nothing fails but what `may_fail`.
/// How many were answered, and how many failed in a way that may be.
pub(crate) fn under_load(
    server: &Server,
    clients: usize,
    target: &str,
    may_fail: impl Fn(&Response) -> bool + Sync,
    work: impl FnOnce(),
) -> (usize, usize) {
    let (done, answered, failed) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                // One connection for the whole time: it outlives workers and reloads.
                let mut client = server.connect();
                while !done.load(Ordering::Relaxed) {
                    let response = client.get(target);
                    answered.fetch_add(1, Ordering::Relaxed);
                    if response.status != 200 {
                        assert!(
                            may_fail(&response),
                            "{} {}",
                            response.status,
                            response.text()
                        );
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        // Also when it panics, or the clients would never end.
        let _end = OnDrop(|| done.store(true, Ordering::Relaxed));
        work();
    });
    (answered.into_inner(), failed.into_inner())
}

struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[test]
fn one_request_at_a_time_is_balanced_and_a_slow_one_holds_up_nobody() {
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
    go(&server);
    assert_ne!(ok(&slow.response()), pids[0]);
    server.stop();
}

#[test]
fn requests_wait_in_order_and_beyond_the_queue_get_503() {
    let server = balanced(1).args(["--queue", "2"]).start();
    let mut clients: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
        eventually("it waits", || {
            metric(&server, "hearth_queued_total") == n as u64
        });
    }
    let refused = server.get("/");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(metric(&server, "hearth_queue_length"), 2);
    // One who hangs up makes room.
    drop(clients.pop());
    eventually("it has left", || {
        metric(&server, "hearth_queue_length") == 1
    });
    let mut last = server.connect();
    last.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    clients.push(last);
    eventually("it waits", || metric(&server, "hearth_queue_length") == 2);
    go(&server);
    clients
        .iter_mut()
        .for_each(|client| drop(ok(&client.response())));
    assert_eq!(metric(&server, "hearth_queue_length"), 0);
    assert_eq!(metric(&server, "hearth_unavailable_total"), 1);
    server.stop();
}

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
            go(&server);
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

/// The one that answers something.
fn busy_worker(server: &Server) -> u32 {
    busy_worker_of(server, "app.php")
}

fn busy_worker_of(server: &Server, app: &str) -> u32 {
    let mut busy = None;
    eventually("a worker is busy", || {
        let status = status_of(server, app);
        let rows = status
            .split("{\"pid\":")
            .skip(1)
            .filter(|row| row.contains("\"in_flight\":1"));
        busy = rows
            .filter_map(|row| row.split(',').next()?.parse().ok())
            .next();
        busy.is_some()
    });
    busy.expect("found")
}

fn status(server: &Server) -> String {
    status_of(server, "app.php")
}

fn status_of(server: &Server, app: &str) -> String {
    let output = hearth(server, &["status", "--json", app]);
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().collect()
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
    let (answered, failed) = under_load(
        &server,
        4,
        "/",
        |response| response.status == 502,
        || {
            for n in 0..kills {
                eventually("there is a worker", || server.workers().len() > 2);
                let workers = server.workers();
                kill(workers[n % workers.len()], Signal::KILL);
                std::thread::sleep(Duration::from_millis(20));
            }
        },
    );
    assert!(failed <= kills, "{failed} of {answered} failed");
    server.stop();
}

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
    let before = pids.map(memory);
    let mut client = server.connect();
    let (piece, pieces) = (vec![b'z'; 1 << 20], 200);
    client.send(format!(
        "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        piece.len() * pieces
    ));
    (0..pieces).for_each(|_| client.send(&piece));
    assert_eq!(ok(&client.response()), (200 << 20).to_string());
    for (pid, before) in pids.into_iter().zip(before) {
        let grown = memory(pid).saturating_sub(before);
        assert!(grown < 16 << 20, "process {pid} has grown by {grown} bytes");
    }
    server.stop();
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

#[test]
fn a_worker_with_deferred_work_is_not_idle() {
    let server = balanced(2).start();
    let mut client = server.connect();
    let busy = ok(&client.get("/later"));
    for _ in 0..5 {
        assert_ne!(ok(&client.get("/")), busy, "it had work to do");
    }
    until_made(&server, "deferred");
    eventually("it is used again", || {
        let mut slow = server.connect();
        slow.send("GET /nap HTTP/1.1\r\nHost: x\r\n\r\n");
        std::thread::sleep(Duration::from_millis(50));
        let quick = ok(&client.get("/"));
        let slow = ok(&slow.response());
        quick == busy || slow == busy
    });
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
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = server.connect();
                    while metric(&server, "hearth_workers_recycled_total") < 3 {
                        let response = client.get(target);
                        pids.lock().expect("no panic").insert(ok(&response));
                        // In direct mode a worker that leaves takes its connections with it, politely.
                        if response.header("connection") == Some("close") {
                            assert_eq!(dispatch, "direct");
                            client = server.connect();
                        }
                    }
                });
            }
        });
        let pids = pids.into_inner().expect("no panic").len();
        assert!(pids > 2, "{dispatch} {limit}: {pids} workers");
        assert_eq!(metric(&server, "hearth_worker_restarts_total"), 0);
        eventually("the old ones leave", || server.workers().len() == 2);
        server.stop();
    }
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
    go(&server);
    for client in &mut clients {
        let response = client.response();
        ok(&response);
        assert_eq!(response.header("connection"), Some("close"));
    }
    assert!(server.wait_exit(Duration::from_secs(5)).is_some());
    server.stop();
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
         Keep-Alive: timeout=9\r\nTE: trailers\r\nHearth-Client: 00 1 s 9.9.9.9:9 9.9.9.9:9\r\nX-Kept: 1\r\n\r\n",
    );
    let text = ok(&client.response()).to_lowercase();
    assert!(text.starts_with(r#"["127.0.0.1","http\/1.1","#), "{text}");
    for gone in [
        "websocket",
        "http_x_hop",
        "timeout=9",
        "trailers",
        "hearth_client",
        "9.9.9.9",
    ] {
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
fn an_upload_that_breaks_off_reaches_nobody() {
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

#[test]
fn an_idle_front_uses_no_cpu_and_keeps_no_descriptors() {
    let server = balanced(2).start();
    let front = server.fronts()[0];
    let mut idle = server.connect();
    ok(&idle.get("/"));
    for target in ["/until", "/big", "/sleep", "/later"] {
        let mut leaves = server.connect();
        leaves.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        match target {
            "/big" | "/later" => drop(leaves.head()),
            _ => drop(busy_worker(&server)),
        }
        drop(leaves);
    }
    go(&server);
    eventually("all is answered", || {
        !status(&server).contains("\"in_flight\":1")
    });
    eventually("what clients left is closed", || {
        let open = descriptors(front);
        let sockets = open.iter().filter(|fd| fd.contains("socket:")).count();
        // Channel (twice: it is the standard input too), listener, reactor's wake-ups, the idle client; per worker a
        // door and a connection.
        sockets <= 3 + 2 + 1 + 2 * 2 && !open.iter().any(|fd| fd.contains("deleted"))
    });
    let before = cpu_time(front);
    std::thread::sleep(Duration::from_millis(500));
    let used = cpu_time(front)
        .expect("it runs")
        .saturating_sub(before.expect("it runs"));
    assert!(
        used <= Duration::from_millis(20),
        "{used:?} of CPU in half a second"
    );
    ok(&idle.get("/"));
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
    go(&server);
    ok(&slow.response());
    eventually("workers were recycled", || {
        ok(&other.get("/"));
        metric(&server, "hearth_workers_recycled_total") >= 3
    });
    assert_eq!(metric(&server, "hearth_worker_restarts_total"), 0);
    server.stop();
}
