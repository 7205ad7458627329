//! Clients that leave before they have their answer.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use testkit::Server;

use crate::support::{eventually, ok, one_worker, until_handled};

/// `/long` waits, `/stream` waits after its first piece; what cancels one of them leaves a mark, which `/look` shows.
const CANCELLED_LEAVES_A_MARK: &str = r#"return function ($request) {
    $wait = function () { try { sleep(20); } finally { file_put_contents('mark', 'cancelled'); } };
    return match ($request->path) {
        '/look' => @file_get_contents('mark') ?: 'nothing',
        '/long' => $wait(),
        '/stream' => (function () use ($wait) { yield 'first'; $wait(); })(),
        default => 'at once',
    };
};"#;

#[track_caller]
fn expect_cancelled(server: &Server) {
    eventually("the request of a client that is gone ends", || {
        ok(&server.get("/look")) == "cancelled"
    });
}

#[test]
fn a_client_that_hangs_up_cancels_its_request() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

#[test]
fn a_client_that_hangs_up_in_the_middle_of_a_stream_ends_it() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().expect("a header").status, 200);
    assert_eq!(client.chunk().expect("a chunk"), b"first");
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

#[test]
fn a_client_that_hangs_up_on_a_unix_socket_cancels_its_request() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK)
        .args(["--listen", "127.0.0.1:0", "--listen", "unix:app.sock"])
        .start();
    let path = server.directory().join("app.sock");
    let mut client = UnixStream::connect(path).expect("the Unix socket accepts");
    client
        .write_all(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("the request can be sent");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

/// As under nginx: an end of sending is no reason not to answer, unless the answer has to be waited for.
#[test]
fn a_client_that_ends_its_sending_gets_what_is_there_at_once() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /now HTTP/1.1\r\nHost: x\r\n\r\nGET /then HTTP/1.1\r\nHost: x\r\n\r\n");
    let _ = client.stream().shutdown(Shutdown::Write);
    assert_eq!(ok(&client.response()), "at once");
    assert_eq!(ok(&client.response()), "at once");
    assert!(client.is_closed_by_server());
    let mut client = server.connect();
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    let _ = client.stream().shutdown(Shutdown::Write);
    assert!(
        client.is_closed_by_server(),
        "an answer after 20 s of waiting"
    );
    expect_cancelled(&server);
    server.stop();
}
