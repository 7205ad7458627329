//! The PROXY protocol, versions 1 and 2.

use std::thread::sleep;
use std::time::Duration;

use super::{SEEN, request};
use crate::support::modes::modes;
use crate::support::one_worker;

const LINE: &[u8] = b"PROXY TCP4 203.0.113.9 198.51.100.7 4711 443\r\n";

/// Version 2 with these TLVs, for the same connection; `command` is 0 for LOCAL and 1 for PROXY.
fn binary(command: u8, fields: &[u8]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    let length = u16::try_from(12 + fields.len()).expect("short");
    header.extend([0x20 | command, 0x11]);
    header.extend(length.to_be_bytes());
    header.extend([203, 0, 113, 9, 198, 51, 100, 7]);
    header.extend(4711_u16.to_be_bytes());
    header.extend(443_u16.to_be_bytes());
    header.extend(fields);
    header
}

/// PP2_TYPE_SSL: the client speaks TLS, and its certificate was not asked for.
const TLS: [u8; 8] = [0x20, 0, 5, 1, 0, 0, 0, 0];

#[test]
fn it_says_whose_connection_it_is_in_every_mode() {
    for (name, server) in modes(SEEN) {
        let server = server.args(["--trusted-proxies", "127.0.0.1"]).start();
        let plain = "203.0.113.9 4711 - http 443 shop.example shop.example 198.51.100.7";
        let secure = "203.0.113.9 4711 on https 443 shop.example shop.example 198.51.100.7";
        for (header, seen) in [
            (LINE.to_vec(), plain),
            (binary(1, &[]), plain),
            (binary(1, &TLS), secure),
        ] {
            let client = &mut server.connect();
            client.send(&header);
            // What comes on it is the client's word.
            for lines in ["", "X-Forwarded-For: 6.6.6.6\r\n"] {
                assert_eq!(request(client, lines), seen, "{name}");
            }
        }
        // Health checks of the proxy's own, and connections without a header.
        for header in [b"PROXY UNKNOWN\r\n".to_vec(), binary(0, &[]), Vec::new()] {
            let client = &mut server.connect();
            client.send(&header);
            assert!(request(client, "").starts_with("127.0.0.1 "), "{name}");
        }
        server.stop();
    }
}

#[test]
fn it_may_come_in_pieces_or_with_its_request() {
    let server = one_worker(&format!("return fn () => {SEEN};"))
        .args(["--trusted-proxies", "127.0.0.1"])
        .start();
    for header in [LINE.to_vec(), binary(1, &TLS)] {
        let client = &mut server.connect();
        for byte in &header {
            client.send([*byte]);
            // So that the pieces come apart; together they would do as well.
            sleep(Duration::from_millis(1));
        }
        assert!(request(client, "").starts_with("203.0.113.9 4711 "));
        let client = &mut server.connect();
        client.send([&header[..], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"].concat());
        assert!(client.response().text().starts_with("203.0.113.9 4711 "));
    }
    server.stop();
}

#[test]
fn from_others_it_is_refused_with_advice() {
    for dispatch in ["direct", "balanced"] {
        for header in [LINE.to_vec(), binary(1, &[])] {
            let server = one_worker("return fn () => 'ran';")
                .args(["--dispatch", dispatch])
                .start();
            let client = &mut server.connect();
            client.send([&header[..], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"].concat());
            assert_eq!(client.response().status, 400, "{dispatch}");
            let advice = "it looks like the PROXY protocol, which is read from trusted proxies only: \
                add the load balancer to http.trusted_proxies, or remove send-proxy from it";
            server.expect_log(advice);
            server.stop();
        }
    }
}

#[test]
fn a_malformed_header_is_refused() {
    let server = one_worker("return fn () => 'ran';")
        .args(["--trusted-proxies", "private"])
        .start();
    let client = &mut server.connect();
    client.send("PROXY TCP4 nonsense\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.response().status, 400);
    server.expect_log("malformed header of the PROXY protocol");
    server.stop();
}
