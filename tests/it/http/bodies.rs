//! Bodies of requests.

use testkit::Server;

use super::{ECHO, echo};
use crate::support::ok;

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
