//! Malformed requests: the client gets an error, and the server goes on.

use std::io::Write;
use std::net::Shutdown;

use super::echo;
use crate::support::ok;

#[test]
fn malformed_requests_get_400_and_the_server_goes_on() {
    let server = echo();
    for bad in [
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "G\0T / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA\0B: c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\u{fc}\x03\x03 a TLS hello\r\n\r\n",
    ] {
        let mut client = server.connect();
        client.send(bad);
        let _ = client.stream().shutdown(Shutdown::Write);
        match client.try_response(false) {
            Ok(response) => assert!(
                (400..=505).contains(&response.status),
                "{bad:?}: {}",
                response.status
            ),
            Err(broken) => panic!("{bad:?}: no answer but {broken:?}"),
        }
        assert!(
            client.is_closed_by_server(),
            "{bad:?}: the connection stays open"
        );
    }
    assert_eq!(ok(&server.get("/alive")), "GET /alive\n");
    server.stop();
}

#[test]
fn a_bad_chunk_is_an_error_to_the_client_not_to_the_server() {
    let server = echo();
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n");
    match client.try_response(false) {
        Ok(response) => assert_eq!(response.status, 400),
        Err(broken) => panic!("no answer but {broken:?}"),
    }
    assert_eq!(ok(&server.get("/alive")), "GET /alive\n");
    server.stop();
}

#[test]
fn a_header_that_is_too_large_gets_431() {
    let server = echo();
    let mut client = server.connect();
    let large = "x".repeat(1 << 20);
    let _ = client
        .stream()
        .write_all(format!("GET / HTTP/1.1\r\nHost: x\r\nLarge: {large}\r\n\r\n").as_bytes());
    if let Ok(response) = client.try_response(false) {
        assert_eq!(response.status, 431);
    }
    assert_eq!(ok(&server.get("/alive")), "GET /alive\n");
    server.stop();
}
