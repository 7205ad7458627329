//! Bodies of requests behind the front: slow, large, broken off.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testkit::Server;
use testkit::http::Client;

use super::balanced;
use crate::support::{ok, one_of_three, resident};

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
            let began = Instant::now();
            ok(&other.get("/"));
            worst = worst.max(began.elapsed());
        }
        (upload.join().expect("it is taken"), worst)
    });
    if worst < took / 4 {
        return Ok(());
    }
    Err(format!("{worst:?} of {took:?}"))
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
