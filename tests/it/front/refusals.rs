//! What the log says of requests that reach no handler: the client, the reason, and not too many lines.

use std::net::Shutdown;

use testkit::Server;

use super::{metric, under_both};
use crate::support::ok;

/// The line about this request of a client's, and that it names the client.
#[track_caller]
fn refused(server: &Server, request: &str, parts: &[&str]) {
    let mut client = server.connect();
    let from = client.stream().local_addr().expect("an address");
    client.send(request);
    let _ = client.try_response(false);
    let line = server.expect_log(&format!("client={from}"));
    for part in parts.iter().chain(&[" INFO ", "request refused: "]) {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
}

#[test]
fn a_refused_request_is_logged_with_its_client_and_the_reason() {
    under_both("return fn () => 'ok';", [], |server, _| {
        let long = "x".repeat(70_000);
        let fields = "A: b\r\n".repeat(101);
        for (request, parts) in [
            (
                "\x16\x03\x01\x02 a TLS hello\r\n\r\n",
                [
                    "TLS",
                    "status=400",
                    r#"request="\x16\x03\x01\x02 a TLS hello""#,
                ],
            ),
            (
                "GET / HTTP/9.9\r\n\r\n",
                ["an HTTP/1.1", "status=505", "request=\"GET / HTTP/9.9\""],
            ),
            (
                "GET /a\"b HTTP/1.1\r\nno colon\r\n\r\n",
                ["field", "status=400", r#"request="GET /a\"b HTTP/1.1""#],
            ),
            (
                "GET / HTTP/1.1\r\n\r\n",
                ["one Host field", "status=400", "request=\"GET /\""],
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\"><script>\r\n\r\n",
                ["valid host", "status=400", "request=\"GET /\""],
            ),
            (
                "GET http://u@:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
                ["valid host", "status=400", "request=\"GET http://u@:80/\""],
            ),
            (
                "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
                ["not a proxy", "status=405", "request=\"CONNECT h:1\""],
            ),
            (
                &format!("GET /{long} HTTP/1.1\r\nHost: h\r\n\r\n"),
                [
                    "target is longer than 32768 bytes",
                    "status=414",
                    "request=\"GET /xxx",
                ],
            ),
            (
                &format!("GET / HTTP/1.1\r\nHost: h\r\n{fields}\r\n"),
                [
                    "more than 100 fields",
                    "status=431",
                    "request=\"GET / HTTP/1.1\"",
                ],
            ),
        ] {
            refused(&server, request, &parts);
        }
        server.stop();
    });
}

#[test]
fn a_body_that_is_refused_for_its_head_is_logged_too() {
    let words = ["--max-body", "1000", "--ini", "post_max_size=100"];
    under_both("return fn () => 'ok';", words, |server, _| {
        let long = "x".repeat(200);
        let post = "POST /a HTTP/1.1\r\nHost: h\r\n";
        for (fields, parts) in [
            (
                "Content-Length: 1\r\nContent-Length: 2\r\n\r\n".to_owned(),
                ["Content-Length", "status=400", "request=\"POST /a\""],
            ),
            (
                "Transfer-Encoding: gzip\r\n\r\n".to_owned(),
                ["Transfer-Encoding", "status=501", "request=\"POST /a\""],
            ),
            (
                "Content-Length: 1001\r\n\r\n".to_owned(),
                [
                    "larger than 1000 bytes (http.max_body)",
                    "status=413",
                    "request=\"POST /a\"",
                ],
            ),
            (
                format!("Content-Length: 200\r\n\r\n{long}"),
                ["post_max_size", "status=413", "request=\"POST /a\""],
            ),
        ] {
            refused(&server, &format!("{post}{fields}"), &parts);
        }
        server.stop();
    });
}

#[test]
fn a_body_that_is_found_to_be_wrong_is_logged() {
    const APP: &str = "return fn ($request) => (string) strlen($request->body());";
    under_both(APP, ["--max-body", "1000"], |server, _| {
        let post = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = format!("190\r\n{}\r\n", "x".repeat(400));
        refused(
            &server,
            &format!("{post}{}0\r\n\r\n", chunk.repeat(3)),
            &["http.max_body", "status=413"],
        );
        refused(
            &server,
            &format!("{post}zz\r\n"),
            &["malformed", "status=400", "request=\"POST /a\""],
        );
        server.stop();
    });
}

#[test]
fn a_classic_site_says_what_it_refuses() {
    for dispatch in ["direct", "balanced"] {
        let server = Server::app(".")
            .file("index.php", "<?php echo 'ok';")
            .args(["--workers", "1", "--dispatch", dispatch])
            .start();
        for (request, parts) in [
            ("nonsense\r\n\r\n", ["an HTTP/1.1", "status=400"]),
            (
                "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n",
                ["path", "status=400"],
            ),
            (
                "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n",
                ["TRACE", "status=405"],
            ),
        ] {
            refused(&server, request, &parts);
        }
        ok(&server.get("/"));
        assert_eq!(server.get("/absent.txt").status, 200, "{dispatch}");
        server.stop();
    }
}

#[test]
fn a_client_that_is_too_slow_is_named() {
    let words = ["--header-timeout", "0.5"];
    under_both("return fn () => 'ok';", words, |server, _| {
        let mut client = server.connect();
        let from = client.stream().local_addr().expect("an address");
        client.send("GET /slow HTTP/1.1\r\nHos");
        let line = server.expect_log(&format!("client={from}"));
        for part in [
            " INFO ",
            "gave up on a client: ",
            "http.header_timeout",
            "request=\"GET /slow HTTP/1.1\"",
        ] {
            assert!(line.contains(part), "no {part:?} in {line}");
        }
        assert!(client.is_closed_by_server());
        // A client that has sent nothing yet has done nothing wrong.
        let before = server.log().lines().len();
        let mut silent = server.connect();
        assert!(silent.is_closed_by_server());
        assert_eq!(
            server.log().lines().len(),
            before,
            "{}",
            server.log().text()
        );
        server.stop();
    });
}

#[test]
fn a_hostile_client_does_not_fill_the_log() {
    const SENT: u64 = 300;
    let words = ["--admin", "127.0.0.1:0"];
    under_both("return fn () => 'ok';", words, |server, dispatch| {
        for _ in 0..SENT {
            let mut client = server.connect();
            client.send("nonsense\r\n\r\n");
            let _ = client.stream().shutdown(Shutdown::Write);
            assert_eq!(client.response().status, 400);
        }
        assert_eq!(
            metric(&server, "hearth_responses_total{class=\"4xx\"}"),
            SENT
        );
        let lines = server.log().lines();
        let logged = lines
            .iter()
            .filter(|line| line.contains("request refused: "));
        let logged = logged.count();
        assert!((10..=30).contains(&logged), "{dispatch}: {logged} lines");
        server.stop();
    });
}
