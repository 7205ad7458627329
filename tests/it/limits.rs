//! What one client may have of a server: connections, and memory for what it does not read. The others do not feel it.

use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::Server;
use testkit::http::{Broken, Client};

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker};

/// For many connections of this process.
fn many_descriptors() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current < maximum {
        let all = Rlimit {
            current: maximum,
            maximum,
        };
        setrlimit(Resource::Nofile, all).expect("a process may have what it may have");
    }
}

fn receive_buffer(client: &Client, bytes: usize) {
    let socket = client.stream().as_fd();
    rustix::net::sockopt::set_socket_recv_buffer_size(socket, bytes).expect("a buffer");
}

/// A small receive buffer: what is not read stays with the server.
fn unread(server: &Server, path: &str) -> Client {
    let mut client = server.connect();
    receive_buffer(&client, 32 << 10);
    client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    client
}

#[test]
fn select_works_however_many_clients_there_are() {
    many_descriptors();
    let server = one_worker(
        r"return function () {
            [$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); fwrite($b, 'x');
            $read = [$a]; $write = $except = null; $found = stream_select($read, $write, $except, 1);
            $pipes = []; $process = proc_open(['echo', 'hello'], [1 => ['pipe', 'w']], $pipes);
            $read = [$pipes[1]]; $found += stream_select($read, $write, $except, 5);
            $said = stream_get_contents($pipes[1]); proc_close($process);
            return [$found, $said];
        };",
    )
    .args(["--dispatch=direct"])
    .start();
    let idle: Vec<_> = (0..1_100).map(|_| server.connect()).collect();
    assert_eq!(ok(&server.get("/")), r#"[2,"hello\n"]"#);
    let worker = server.workers()[0];
    let low = std::fs::read_dir(format!("/proc/{worker}/fd")).expect("it runs");
    let low = low
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|number| *number < 1024);
    assert!(low.count() < 40);
    drop(idle);
    server.stop();
}

#[test]
fn at_the_limit_of_connections_idle_ones_make_room() {
    for dispatch in ["direct", "balanced"] {
        let server = Server::script(&format!(
            "return function ($r) {{ if ($r->path === '/wait') {{ {UNTIL_GO} }} return 'ok'; }};"
        ))
        .args(["--workers=1", "--concurrency=2", "--max-connections=5"])
        .args(["--dispatch", dispatch])
        .start();
        let mut busy = server.connect();
        busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut kept = server.connect();
        if dispatch == "direct" {
            ok(&kept.get("/"));
        }
        // Idle for more than a moment, in which a request may be on its way.
        std::thread::sleep(Duration::from_millis(400));
        let mut open = Vec::new();
        for _ in 0..4 {
            // Each opened after the others, and left open.
            open.push(server.connect());
        }
        assert!(kept.is_closed_by_server(), "{dispatch}: idle for longest");
        let_go(&server);
        assert_eq!(ok(&busy.response()), "ok");
        eventually("there is room again", || server.get("/").status == 200);
        server.stop();
    }
}

#[test]
fn a_connection_beyond_the_limit_is_told_so() {
    for (dispatch, limit) in [
        ("direct", "--max-connections=3"),
        ("direct", "--max-connections-per-worker=3"),
        ("balanced", "--max-connections=3"),
    ] {
        let server = Server::script(&format!(
            "return function () {{ {UNTIL_GO} return 'ok'; }};"
        ))
        .args(["--workers=1", "--concurrency=4", limit])
        .args(["--dispatch", dispatch])
        .start();
        let mut busy: Vec<Client> = (0..3)
            .map(|_| {
                let mut client = server.connect();
                // Not idle: a head has begun.
                client.send("GET / HTTP/1.1\r\n");
                client
            })
            .collect();
        let refused = || {
            // One that comes before the others have begun is let in.
            let mut client = server.connect();
            client.set_timeout(Duration::from_millis(200));
            let answer = client.try_response(false);
            matches!(answer, Ok(answer) if answer.status == 503 && answer.header("retry-after") == Some("1"))
        };
        eventually("one is refused", refused);
        server.expect_log("http.max_connections");
        busy.iter_mut()
            .for_each(|client| client.send("Host: x\r\n\r\n"));
        let_go(&server);
        for client in &mut busy {
            assert_eq!(ok(&client.response()), "ok", "{dispatch}");
        }
        server.stop();
    }
}

#[test]
fn a_front_is_no_worker_with_a_limit() {
    let server = Server::script("return fn () => 'ok';")
        .args(["--dispatch=balanced", "--max-connections-per-worker=1"])
        .start();
    let mut clients = [(); 3].map(|()| server.connect());
    clients
        .iter_mut()
        .for_each(|client| client.send("GET / HTTP/1.1\r\n"));
    for client in &mut clients {
        client.send("Host: x\r\n\r\n");
        assert_eq!(ok(&client.response()), "ok");
    }
    server.stop();
}

#[test]
fn one_address_has_so_many_connections_and_no_more() {
    for (dispatch, workers) in [("direct", "1"), ("direct", "3"), ("balanced", "1")] {
        let server = Server::script("return fn () => 'ok';")
            .args(["--workers", workers, "--max-connections-per-address=2"])
            .args(["--dispatch", dispatch])
            .start();
        let mut two = [server.connect(), server.connect()];
        two.iter_mut().for_each(|client| _ = ok(&client.get("/")));
        let mut third = server.connect();
        let answer = third.try_response(false).map(|answer| answer.status);
        assert!(matches!(answer, Ok(503)), "{dispatch}: {answer:?}");
        server.expect_log("http.max_connections_per_address");
        let [first, mut second] = two;
        drop(first);
        eventually("there is room again", || {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            client
                .try_response(false)
                .is_ok_and(|answer| answer.status == 200)
        });
        ok(&second.get("/"));
        server.stop();
    }
}

#[test]
fn a_connection_serves_so_many_requests() {
    for dispatch in ["direct", "balanced"] {
        let server = Server::script("return fn () => 'ok';")
            .args(["--workers=1", "--max-requests-per-connection=3"])
            .args(["--dispatch", dispatch])
            .start();
        let mut client = server.connect();
        for last in [false, false, true] {
            let answer = client.get("/");
            assert_eq!(
                answer.header("connection") == Some("close"),
                last,
                "{dispatch}"
            );
        }
        assert!(client.is_closed_by_server());
        server.stop();
    }
}

#[test]
fn a_head_has_so_many_bytes_and_fields() {
    for dispatch in ["direct", "balanced"] {
        let server = Server::script("return fn () => 'ok';")
            .args(["--workers=1", "--max-header-size=1K", "--max-headers=5"])
            .args(["--dispatch", dispatch])
            .start();
        for (fields, status) in [
            ("A: b\r\n".repeat(4), 200),
            ("A: b\r\n".repeat(5), 431),
            (format!("A: {}\r\n", "b".repeat(900)), 200),
            (format!("A: {}\r\n", "b".repeat(1024)), 431),
        ] {
            let mut client = server.connect();
            client.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{fields}\r\n"));
            assert_eq!(client.response().status, status, "{dispatch}: {fields:.20}");
        }
        server.stop();
    }
}

/// S9: forty clients that do not read a page of 4 MB.
#[test]
fn what_clients_do_not_read_is_not_held_in_phps_memory() {
    let server = one_worker(
        r"return fn ($r) => $r->path === '/memory' ? (string) memory_get_usage() : str_repeat('x', 4 << 20);",
    )
    .args(["--dispatch=direct", "--ini=memory_limit=64M"])
    .start();
    let worker = server.workers();
    let mut slow: Vec<Client> = (0..40).map(|_| unread(&server, "/large")).collect();
    for client in &mut slow {
        assert_eq!(client.head().expect("a head").status, 200);
    }
    let used: u64 = ok(&server.get("/memory")).parse().expect("a number");
    assert!(used < 40 << 20, "{used} bytes are held");
    for client in slow.iter_mut().skip(20).take(2) {
        receive_buffer(client, 4 << 20);
        let mut rest = vec![0; 4 << 20];
        let mut stream = client.stream();
        let already = client.buffered().to_vec();
        rest[..already.len()].copy_from_slice(&already);
        stream
            .read_exact(&mut rest[already.len()..])
            .expect("all of it");
        assert!(rest.iter().all(|byte| *byte == b'x'));
    }
    assert_eq!(server.workers(), worker, "it lives");
    // A drain waits for their answers.
    drop(slow);
    server.stop();
}

#[test]
fn an_answer_that_cannot_be_kept_takes_the_place_of_a_request() {
    let server =
        one_worker("return fn ($r) => $r->path === '/small' ? 'ok' : str_repeat('x', 20 << 20);")
            .args(["--dispatch=direct", "--concurrency=1", "--max-spool=1M"])
            .start();
    let mut slow = unread(&server, "/large");
    assert_eq!(slow.head().expect("a head").status, 200);
    let mut next = server.connect();
    next.set_timeout(Duration::from_millis(300));
    next.send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(matches!(next.try_response(false), Err(Broken::Io(_))));
    drop(slow);
    next.set_timeout(Duration::from_secs(18));
    assert_eq!(ok(&next.response()), "ok");
    server.stop();
}

#[test]
fn temporary_files_have_a_limit_together() {
    for (dispatch, concurrency) in [("balanced", "1"), ("direct", "1")] {
        let server = one_worker("return fn ($r) => (string) strlen($r->body());")
            .args(["--dispatch", dispatch, "--concurrency", concurrency])
            .args(["--max-spool=300K", "--ini=post_max_size=0"])
            .start();
        let post = |length: usize| {
            let body = vec![b'x'; length];
            server.connect().post("/", "text/plain", body)
        };
        assert_eq!(ok(&post(200_000)), "200000", "{dispatch}, first");
        let answer = post(400_000);
        assert_eq!(answer.status, 507, "{dispatch}");
        server.expect_log("http.max_spool");
        assert_eq!(ok(&post(200_000)), "200000", "{dispatch}");
        server.stop();
    }
}

/// S31: `post_max_size` is asked before a byte is stored, in both dispatches.
#[test]
fn a_body_larger_than_the_app_takes_is_refused_at_once() {
    for dispatch in ["balanced", "direct"] {
        let server = one_worker("return fn ($r) => (string) strlen($r->body());")
            .args([
                "--dispatch",
                dispatch,
                "--concurrency=1",
                "--ini=post_max_size=1000",
            ])
            .start();
        let mut client = server.connect();
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
        let answer = client.response();
        assert_eq!(answer.status, 413, "{dispatch}");
        assert!(answer.text().contains("post_max_size"), "{}", answer.text());
        let mut chunked = server.connect();
        chunked.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        chunked.send(format!("3e9\r\n{}\r\n", "x".repeat(1001)));
        let answer = chunked.response();
        assert_eq!(answer.status, 413, "{dispatch}, in chunks");
        assert!(answer.text().contains("post_max_size"), "{}", answer.text());
        assert_eq!(
            ok(&server.connect().post("/", "text/plain", "x".repeat(1000))),
            "1000"
        );
        server.stop();
    }
}

/// 20 s of waiting are free: all ways at once.
#[test]
fn a_client_that_moves_a_byte_now_and_then_is_cut_off() {
    let code = "return fn ($r) => $r->path === '/page' ? str_repeat('x', 4 << 20) : (string) strlen($r->body());";
    std::thread::scope(|scope| {
        for dispatch in ["direct", "balanced"] {
            let server = one_worker(code).args(["--min-rate=1K", "--dispatch", dispatch]);
            let server = scope.spawn(move || {
                let server = server.start();
                let mut ways = [server.connect(), server.connect()];
                let [sends, reads] = &mut ways;
                sends.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
                receive_buffer(reads, 4096);
                reads.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
                let began = std::time::Instant::now();
                sends.set_timeout(Duration::from_millis(500));
                reads.set_timeout(Duration::from_millis(100));
                let answer = loop {
                    let _ = reads.stream().read(&mut [0]);
                    if sends.buffered().is_empty() {
                        sends.send("x");
                    }
                    match sends.try_response(false) {
                        Ok(answer) => break answer,
                        Err(_) => assert!(began.elapsed() < Duration::from_secs(40), "{dispatch}"),
                    }
                };
                assert_eq!(answer.status, 408, "{dispatch}");
                assert!(
                    began.elapsed() > Duration::from_secs(15),
                    "{dispatch}: at once"
                );
                server.expect_log(
                    "it did not read the response in time (http.send_timeout, http.min_rate)",
                );
                assert_eq!(ok(&server.get("/")), "0");
                server.stop();
            });
            drop(server);
        }
    });
}
