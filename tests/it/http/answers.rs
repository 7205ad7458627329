//! What a handler returns, as it goes over the wire.

use testkit::Server;

use super::echo;
use crate::support::{UNTIL_GO, let_go, ok, resident};

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
fn a_streamed_response_is_chunked_and_each_piece_goes_out_at_once() {
    let server = Server::script(&format!(
        "return fn () => (function () {{ yield 'first'; {UNTIL_GO} yield ''; yield 'second'; }})();",
    ))
    .start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = client.head().expect("a header");
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.chunk().expect("a chunk"), b"first");
    let_go(&server);
    assert_eq!(client.chunk().expect("a chunk"), b"second");
    assert!(client.chunk().expect("the end").is_empty());
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
    let before = resident(server.workers()[0]);
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    slow.head().expect("a header");
    for _ in 0..20 {
        assert_eq!(ok(&server.get("/quick")), "quick");
    }
    let grown = resident(server.workers()[0]).saturating_sub(before);
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

const KINDS: &str = r#"
        final class Point implements JsonSerializable { public function jsonSerialize(): array { return ['x' => 1]; } }
        return fn (Hearth\Request $request) => match ($request->path) {
            '/string' => 'text',
            '/array' => ['a' => [1, 2]],
            '/json' => new Point(),
            '/echo' => (function () { echo 'echoed'; })(),
            '/status' => (function () { http_response_code(201); header('X-A: 1'); header('X-A: 2', false); setcookie('c', 'v w'); echo 'made'; })(),
            '/redirect' => Hearth\Response::redirect('/there', 303),
            '/none' => new Hearth\Response('', 204),
            '/reset' => new Hearth\Response('form', 205),
            '/close' => new Hearth\Response('last', 200, ['Connection' => 'keep-alive, close']),
            '/object' => new stdClass(),
            '/number' => 5,
        };"#;

#[test]
fn every_kind_of_return_value() {
    let server = Server::script(KINDS).args(["--workers", "1"]).start();
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
    let reset = client.get("/reset");
    assert_eq!(
        (
            reset.status,
            reset.text().as_str(),
            reset.header("content-length")
        ),
        (205, "", Some("0"))
    );
    for (path, named) in [("/object", "stdClass"), ("/number", "int")] {
        assert_eq!(client.get(path).status, 500);
        server.expect_log(named);
    }
    let last = client.get("/close");
    assert_eq!(
        (ok(&last).as_str(), last.header("connection")),
        ("last", Some("close"))
    );
    assert!(client.is_closed_by_server());
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
