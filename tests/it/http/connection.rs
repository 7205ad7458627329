//! What belongs to a connection: how long it stays, and where it comes from.

use std::io::{Read, Write};
use std::time::Instant;

use testkit::Server;
use testkit::http::Client;

use super::{ECHO, echo};
use crate::support::ok;

#[test]
fn a_connection_serves_many_requests_until_told_to_close() {
    let server = echo();
    let mut client = server.connect();
    for number in 0..20 {
        assert_eq!(
            ok(&client.get(&format!("/{number}"))),
            format!("GET /{number}\n")
        );
    }
    client.send("GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let last = client.response();
    assert_eq!(
        (ok(&last).as_str(), last.header("connection")),
        ("GET /last\n", Some("close"))
    );
    assert!(client.is_closed_by_server());
    server.stop();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::script(
        "return function ($request) { usleep(50000 * (3 - (int) $request->query('n'))); return $request->query('n'); };",
    )
    .args(["--workers", "1"])
    .start();
    let mut client = server.connect();
    let requests: Vec<String> = (0..4)
        .map(|n| format!("GET /?n={n} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        .collect();
    client.send(requests.concat());
    let answers: Vec<String> = (0..4).map(|_| ok(&client.response())).collect();
    assert_eq!(answers, ["0", "1", "2", "3"]);
    server.stop();
}

#[test]
fn http_1_0_closes_unless_it_asks_to_stay() {
    let server = echo();
    let mut client = server.connect();
    client.send("GET /one HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let one = client.response();
    assert_eq!(ok(&one), "GET /one\n");
    assert!(one.header("content-length").is_some() && one.header("transfer-encoding").is_none());
    assert!(
        one.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("keep-alive"))
    );
    client.send("GET /two HTTP/1.0\r\n\r\n");
    assert_eq!(ok(&client.response()), "GET /two\n");
    assert!(client.is_closed_by_server());
    server.stop();
}

#[test]
fn a_client_that_sends_its_header_too_slowly_is_cut_off() {
    let server = Server::script(ECHO)
        .args(["--workers", "1", "--header-timeout", "0.5"])
        .start();
    let start = Instant::now();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost:");
    let mut rest = Vec::new();
    let _ = client.stream().read_to_end(&mut rest);
    assert!(
        (400..18_000).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
    server.stop();
}

#[test]
fn an_idle_connection_is_closed_after_the_keep_alive_time() {
    let server = Server::script(ECHO)
        .args(["--workers", "1", "--keepalive-timeout", "0.5"])
        .start();
    let mut client = server.connect();
    let start = Instant::now();
    assert_eq!(ok(&client.get("/")), "GET /\n");
    assert!(client.is_closed_by_server());
    assert!(
        (400..18_000).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
    server.stop();
}

#[test]
fn several_addresses_and_a_unix_socket() {
    let server = Server::script("return fn () => 'here';")
        .args([
            "--listen",
            "127.0.0.1:0",
            "--listen",
            "127.0.0.1:0",
            "--listen",
            "unix:hearth.sock",
        ])
        .start();
    let urls = server.urls();
    for url in urls.iter().filter(|url| url.starts_with("http://127")) {
        assert_eq!(
            ok(&Client::connect(url.trim_start_matches("http://")).get("/")),
            "here"
        );
    }
    assert_eq!(
        urls.iter()
            .filter(|url| url.starts_with("http://127"))
            .count(),
        2,
        "{urls:?}"
    );
    let path = server.directory().join("hearth.sock");
    let mut stream =
        std::os::unix::net::UnixStream::connect(&path).expect("the Unix socket accepts");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .expect("a request can be sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhere"),
        "{answer}"
    );
    server.stop();
    assert!(!path.exists(), "the socket's file is left");
}
