//! HTTP as clients speak it, well and badly.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use testkit::Server;
use testkit::http::Client;

use crate::support::{memory, ok};

/// Answers with what it was asked.
const ECHO: &str = r#"
return function (Hearth\Request $request): Hearth\Response {
    return new Hearth\Response("$request->method $request->target\n" . $request->body(), 200, ['X-Length' => (string) strlen($request->body())]);
};"#;

fn echo() -> Server {
    Server::script(ECHO).args(["--workers", "1"]).start()
}

#[test]
fn a_response_has_length_type_and_date() {
    let server = echo();
    let response = server.get("/a?b=c");
    assert_eq!(ok(&response), "GET /a?b=c\n");
    assert_eq!(response.version, "HTTP/1.1");
    assert_eq!(response.header("content-length"), Some("11"));
    assert_eq!(
        response.header("content-type"),
        Some("text/html; charset=UTF-8")
    );
    assert!(
        response
            .header("date")
            .is_some_and(|date| date.ends_with(" GMT"))
    );
    server.stop();
}

#[test]
fn head_gives_the_header_of_get_without_a_body() {
    let server = echo();
    let mut client = server.connect();
    client.send("HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = client.response_to_head();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("8"))
    );
    assert_eq!(
        ok(&client.get("/next")),
        "GET /next\n",
        "nothing of a body came before"
    );
    server.stop();
}

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
fn a_stream_to_http_1_0_is_not_chunked() {
    let server =
        Server::script("return fn () => (function () { yield 'a'; yield 'b'; })();").start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let response = client.response();
    assert_eq!(
        (ok(&response).as_str(), response.header("transfer-encoding")),
        ("ab", None)
    );
    server.stop();
}

#[test]
fn a_chunked_request_body_arrives_whole() {
    let server = echo();
    let mut client = server.connect();
    client.send(
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    );
    client.send("A;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n");
    let response = client.response();
    assert_eq!(
        (ok(&response).as_str(), response.header("x-length")),
        ("POST /\nabc0123456789", Some("13"))
    );
    assert_eq!(ok(&client.get("/next")), "GET /next\n");
    server.stop();
}

#[test]
fn a_streamed_response_is_chunked_and_each_piece_goes_out_at_once() {
    let server = Server::script(
        "return fn () => (function () { yield 'first'; usleep(400000); yield ''; yield 'second'; })();",
    )
    .start();
    let mut client = server.connect();
    let start = Instant::now();
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = client.head().expect("a header");
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.chunk().expect("a chunk"), b"first");
    assert!(
        start.elapsed() < Duration::from_millis(350),
        "the first piece waited for the second"
    );
    assert_eq!(client.chunk().expect("a chunk"), b"second");
    assert!(client.chunk().expect("the end").is_empty());
    server.stop();
}

#[test]
fn expect_100_continue_is_answered_before_the_body_is_sent() {
    let server = echo();
    let mut client = server.connect();
    client.send(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(client.response().status, 100);
    client.send("abc");
    assert_eq!(ok(&client.response()), "POST /\nabc");
    server.stop();
}

#[test]
fn an_unread_body_does_not_disturb_the_next_request() {
    let server = Server::script("return fn () => 'not read';")
        .args(["--workers", "1"])
        .start();
    let mut client = server.connect();
    assert_eq!(
        ok(&client.post("/", "text/plain", vec![b'x'; 200_000])),
        "not read"
    );
    assert_eq!(ok(&client.get("/")), "not read");
    server.stop();
}

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

#[test]
fn a_body_over_post_max_size_gets_413_with_a_body() {
    let server = Server::script(ECHO)
        .args(["--workers", "1", "--ini", "post_max_size=1000"])
        .start();
    let mut client = server.connect();
    assert_eq!(client.post("/", "text/plain", vec![b'x'; 1000]).status, 200);
    let refused = client.post("/", "text/plain", vec![b'x'; 1001]);
    assert_eq!(refused.status, 413);
    assert!(
        refused.text().contains("post_max_size"),
        "{}",
        refused.text()
    );

    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..3 {
        client.send(format!("1f4\r\n{}\r\n", "y".repeat(500)));
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.response().status, 413);
    assert_eq!(ok(&server.get("/alive")), "GET /alive\n");
    server.stop();
}

#[test]
fn a_large_body_is_streamed_to_the_handler_and_does_not_stay_in_memory() {
    let server = Server::script(
        r#"return function (Hearth\Request $request): array {
            $hash = hash_init('crc32b'); $size = 0;
            for ($stream = $request->stream(); !feof($stream);) {
                $piece = fread($stream, 65536); $size += strlen($piece); hash_update($hash, $piece);
            }
            return ['size' => $size, 'hash' => hash_final($hash), 'peak' => memory_get_peak_usage()];
        };"#,
    )
    .args(["--workers", "1", "--ini", "post_max_size=200M", "--ini", "memory_limit=32M"])
    .start();
    let body = vec![b'z'; 64 << 20];
    let answer = ok(&server
        .connect()
        .post("/", "application/octet-stream", &body));
    assert!(answer.contains("\"size\":67108864"), "{answer}");
    server.stop();
}

#[test]
fn a_slow_reader_holds_its_own_request_and_nothing_else() {
    let server = Server::script(
        r#"return function (Hearth\Request $request) {
            if ($request->path === '/quick') { return 'quick'; }
            return (function () { for ($n = 0; $n < 512; $n++) { yield str_repeat('x', 131072); $GLOBALS['sent'] = $n; } })();
        };"#,
    )
    .args(["--workers", "1", "--ini", "memory_limit=64M"])
    .start();
    let before = memory(server.workers()[0]);
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    slow.head().expect("a header");
    for _ in 0..20 {
        assert_eq!(ok(&server.get("/quick")), "quick");
    }
    let grown = memory(server.workers()[0]).saturating_sub(before);
    assert!(
        grown < 32 << 20,
        "64 MiB to a client that does not read took {grown} bytes of the worker"
    );
    let mut length = 0;
    loop {
        let chunk = slow.chunk().expect("the stream goes on");
        if chunk.is_empty() {
            break;
        }
        length += chunk.len();
    }
    assert_eq!(length, 512 * 131_072);
    server.stop();
}

#[test]
fn a_client_that_sends_its_header_too_slowly_is_cut_off() {
    let server = Server::script(ECHO)
        .args(["--workers", "1", "--header-timeout", "0.5"])
        .start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost:");
    let start = Instant::now();
    let mut rest = Vec::new();
    let _ = client.stream().read_to_end(&mut rest);
    assert!(
        (400..5000).contains(&start.elapsed().as_millis()),
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
    assert_eq!(ok(&client.get("/")), "GET /\n");
    let start = Instant::now();
    assert!(client.is_closed_by_server());
    assert!(
        (400..5000).contains(&start.elapsed().as_millis()),
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

#[test]
fn every_kind_of_return_value() {
    let server = Server::script(
        r#"
        final class Point implements JsonSerializable { public function jsonSerialize(): array { return ['x' => 1]; } }
        return fn (Hearth\Request $request) => match ($request->path) {
            '/string' => 'text',
            '/array' => ['a' => [1, 2]],
            '/json' => new Point(),
            '/echo' => (function () { echo 'echoed'; })(),
            '/status' => (function () { http_response_code(201); header('X-A: 1'); header('X-A: 2', false); setcookie('c', 'v w'); echo 'made'; })(),
            '/redirect' => Hearth\Response::redirect('/there', 303),
            '/none' => new Hearth\Response('', 204),
            '/object' => new stdClass(),
            '/number' => 5,
        };"#,
    )
    .args(["--workers", "1"])
    .start();
    let mut client = server.connect();
    assert_eq!(ok(&client.get("/string")), "text");
    let array = client.get("/array");
    assert_eq!(
        (ok(&array).as_str(), array.header("content-type")),
        (r#"{"a":[1,2]}"#, Some("application/json"))
    );
    assert_eq!(ok(&client.get("/json")), r#"{"x":1}"#);
    assert_eq!(ok(&client.get("/echo")), "echoed");
    let made = client.get("/status");
    assert_eq!((made.status, made.text().as_str()), (201, "made"));
    assert_eq!(made.header_all("x-a"), ["1", "2"]);
    assert_eq!(made.header("set-cookie"), Some("c=v%20w"));
    let redirect = client.get("/redirect");
    assert_eq!(
        (redirect.status, redirect.header("location")),
        (303, Some("/there"))
    );
    let none = client.get("/none");
    assert_eq!(
        (
            none.status,
            none.header("content-type"),
            none.header("content-length")
        ),
        (204, None, None)
    );
    for (path, named) in [("/object", "stdClass"), ("/number", "int")] {
        assert_eq!(client.get(path).status, 500);
        server.expect_log(named);
    }
    server.stop();
}

#[test]
fn a_header_that_would_inject_another_throws() {
    let server = Server::script(
        r#"return function () {
            foreach (["a\r\nb", "a\nb", "a\0b"] as $value) {
                try { (new Hearth\Response())->withHeader('X', $value); echo 'accepted '; } catch (ValueError) { echo 'refused '; }
            }
            return null;
        };"#,
    )
    .start();
    assert_eq!(ok(&server.get("/")), "refused refused refused ");
    server.stop();
}

#[test]
fn files_are_sent_with_ranges_and_validators() {
    let server = Server::script("return fn () => Hearth\\Response::file(__DIR__ . '/page.txt');")
        .file("page.txt", "0123456789")
        .args(["--workers", "1"])
        .start();
    let mut client = server.connect();
    let whole = client.get("/");
    assert_eq!(
        (ok(&whole).as_str(), whole.header("content-length")),
        ("0123456789", Some("10"))
    );
    assert!(
        whole
            .header("content-type")
            .is_some_and(|value| value.starts_with("text/plain"))
    );
    let tag = whole.header("etag").expect("an ETag").to_owned();
    client.send("GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=2-4\r\n\r\n");
    let part = client.response();
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
    client.send("GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=50-\r\n\r\n");
    assert_eq!(client.response().status, 416);
    client.send(format!(
        "GET / HTTP/1.1\r\nHost: x\r\nIf-None-Match: {tag}\r\n\r\n"
    ));
    assert_eq!(client.response().status, 304);
    let modified = whole.header("last-modified").expect("a Last-Modified");
    client.send(format!(
        "GET / HTTP/1.1\r\nHost: x\r\nIf-Modified-Since: {modified}\r\n\r\n"
    ));
    assert_eq!(client.response().status, 304);
    server.stop();
}
