//! Connections: kept alive, closed, starved, pipelined, over a Unix socket; and the number of requests on them.

use crate::tool::{has_verdict, run};
use crate::truth::Truth;
use measure::KeepAlive;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;

#[test]
fn exactly_n_requests_whatever_the_shape() {
    for shape in [
        &["-c", "7", "-t", "3"][..],
        &["-c", "1"],
        &["-c", "5", "-t", "2", "-r", "5000"],
        &["-c", "50", "-t", "2", "-r", "5000", "--poisson"],
    ] {
        let server = Truth::start();
        let url = server.url("/ok");
        let mut args = shape.to_vec();
        args.extend(["-n", "1003", &url]);
        let result = run(&args);
        assert_eq!(
            (result.counts.good, server.served()),
            (1_003, 1_003),
            "{shape:?}"
        );
    }
}

#[test]
fn connections_are_kept_or_not_as_asked() {
    let server = Truth::start();
    let kept = run(&["-c", "3", "-n", "300", &server.url("/ok")]);
    assert_eq!((kept.connections.opened, server.connections()), (3, 3));
    assert_eq!(kept.counts.on_reused_connection, 297);
    let server = Truth::start();
    let single = run(&["-c", "3", "-n", "300", "--no-keepalive", &server.url("/ok")]);
    assert_eq!(
        (
            single.connections.opened,
            server.connections(),
            single.connections.closed_by_client
        ),
        (300, 300, 300)
    );
    assert_eq!(single.setup.keep_alive, KeepAlive::Off);
    assert!(has_verdict(&single, "D06"));
    let server = Truth::start();
    let ten = run(&[
        "-c",
        "1",
        "-n",
        "300",
        "--requests-per-connection",
        "10",
        &server.url("/ok"),
    ]);
    assert_eq!((ten.connections.opened, server.connections()), (30, 30));
    assert_eq!(ten.connections.requests_per_connection[&10], 30);
}

#[test]
fn a_server_that_closes_after_n_is_found_out() {
    let server = Truth::start();
    let result = run(&["-c", "1", "-n", "200", &server.url("/close-after/10")]);
    assert_eq!(result.counts.good, 200);
    assert_eq!(
        (
            result.connections.closed_by_server,
            result.connections.requests_per_connection[&10]
        ),
        (20, 20)
    );
    assert!(has_verdict(&result, "D07"), "{:?}", result.verdicts);
}

#[test]
fn a_body_that_ends_with_the_connection_is_good() {
    let server = Truth::start();
    let result = run(&[
        "-c",
        "2",
        "-n",
        "20",
        "--expect",
        "body=to the end",
        &server.url("/until-close"),
    ]);
    assert_eq!(
        (result.counts.good, result.connections.closed_by_server),
        (20, 20)
    );
}

#[test]
fn large_bodies_are_counted_to_the_byte() {
    let server = Truth::start();
    let result = run(&["-c", "2", "-n", "10", &server.url("/big/1000003")]);
    assert_eq!((result.counts.good, result.bytes.body), (10, 10_000_030));
}

#[test]
fn starved_connections_are_seen() {
    let server = Truth::with_slots(2);
    let result = run(&[
        "-c",
        "6",
        "-d",
        "1500ms",
        "--drain",
        "0",
        &server.url("/ok"),
    ]);
    assert_eq!(
        result.connections.never_answered, 4,
        "{:?}",
        result.connections
    );
    assert_eq!(
        result.counts.unfinished,
        4 + 2 - (2 - (result.counts.unfinished - 4))
    );
    assert!(has_verdict(&result, "D08") && result.connections.fairness < 0.5);
}

#[test]
fn unix_sockets_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        listener.accept().unwrap(); // the probe
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .unwrap();
        }
    });
    let result = run(&[
        "-c",
        "1",
        "-n",
        "100",
        &format!("unix:{}:/x", path.display()),
    ]);
    assert_eq!(result.counts.good, 100);
    server.join().unwrap();
}

/// Answers a batch only when all of it is there, so that a client which waits for each answer gets none.
fn batches_of(size: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let (mut bytes, mut buffer) = (Vec::new(), [0; 65536]);
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    bytes.extend_from_slice(&buffer[..n]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    if text.matches("\r\n\r\n").count() == size {
                        bytes.clear();
                        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".repeat(size);
                        // In two parts, neither of which ends with an answer.
                        let (first, rest) = answer.split_at(answer.len() / 2 + 7);
                        let written = stream.write_all(first.as_bytes());
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        if written
                            .and_then(|()| stream.write_all(rest.as_bytes()))
                            .is_err()
                        {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

#[test]
fn pipelined_requests_are_sent_at_once() {
    let url = format!("http://{}/", batches_of(16));
    let result = run(&[
        "-c",
        "3",
        "-d",
        "400ms",
        "--pipeline",
        "16",
        "--expect",
        "length=2",
        &url,
    ]);
    assert!(result.counts.good >= 48, "{:?}", result.counts);
    assert_eq!(result.counts.failed, 0, "{:?}", result.error_samples);
    assert_eq!(result.setup.streams, 16);
    // What was never answered is counted by the request, not by the batch.
    let lonely = format!("http://{}/", batches_of(99));
    let result = run(&[
        "-c",
        "2",
        "-d",
        "300ms",
        "--drain",
        "0s",
        "--pipeline",
        "16",
        &lonely,
    ]);
    assert_eq!(
        (result.counts.good, result.counts.unfinished),
        (0, 32),
        "{:?}",
        result.counts
    );
}
