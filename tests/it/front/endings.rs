//! When time is over: what clients get then, and what the end does not wait for.

use std::time::{Duration, Instant};

use testkit::Server;
use testkit::http::Broken;

use super::under_both;
use crate::support::{eventually, hearth, ok};

const APP: &str = r#"return function (Hearth\Request $request) {
    if ($request->path === '/endless') {
        return (function () { for (;;) { yield str_repeat('x', 1000); usleep(5000); } })();
    }
    if ($request->path === '/throws') {
        return (function () { yield 'a'; throw new Exception('in the middle'); })();
    }
    if ($request->path === '/echoes') {
        echo 'a'; flush(); throw new Exception('in the middle');
    }
    if ($request->path === '/big') {
        return (function () { for ($n = 0; $n < 320; $n++) { yield str_repeat('x', 65536); } })();
    }
    return (string) getmypid();
};"#;

/// How long it took to stop.
fn stopped(server: Server) -> Duration {
    let since = Instant::now();
    server.stop();
    since.elapsed()
}

#[test]
fn an_answer_whose_end_is_the_connections_never_looks_complete_when_it_is_cut_off() {
    // HTTP/1.0 knows no chunks: nothing but a reset can tell.
    under_both(APP, ["--send-timeout", "1"], |server, dispatch| {
        let mut unread = server.connect();
        unread.send("GET /big HTTP/1.0\r\n\r\n");
        unread.head().expect("a head");
        server.expect_log("http.send_timeout");
        let rest = unread.take_rest().map(|bytes| bytes.len());
        assert!(matches!(rest, Err(Broken::Io(_))), "{dispatch}: {rest:?}");
        server.stop();
    });
    under_both(APP, ["--stop-timeout", "0.3"], |server, dispatch| {
        let mut endless = server.connect();
        endless.send("GET /endless HTTP/1.0\r\n\r\n");
        endless.head().expect("a head");
        let rest = std::thread::spawn(move || endless.take_rest().map(|bytes| bytes.len()));
        server.stop();
        let rest = rest.join().expect("it ends");
        assert!(matches!(rest, Err(Broken::Io(_))), "{dispatch}: {rest:?}");
    });
}

/// An exception, or a time limit: the pieces that are out cannot be taken back, but the client sees that there should be more.
#[test]
fn a_stream_that_its_handler_does_not_finish_never_looks_complete() {
    under_both(APP, ["--request-timeout", "0.5"], |server, dispatch| {
        for path in ["/throws", "/echoes", "/endless"] {
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            let answer = client.try_response(false);
            assert!(answer.is_err(), "{dispatch} {path}: {answer:?}");
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/1.0\r\n\r\n"));
            client.head().expect("a head");
            let rest = client.take_rest();
            assert!(rest.is_err(), "{dispatch} {path}: {rest:?}");
            let mut client = server.connect();
            client.send(format!("HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert_eq!(client.response_to_head().status, 200, "{dispatch} {path}");
        }
        ok(&server.get("/"));
        server.stop();
    });
}

#[test]
fn a_connection_that_has_said_nothing_delays_no_end() {
    under_both(APP, ["--stop-timeout", "20"], |server, dispatch| {
        let silent = server.connect();
        // Accepted behind it.
        ok(&server.get("/"));
        let time = stopped(server);
        assert!(time < Duration::from_secs(15), "{dispatch}: {time:?}");
        drop(silent);
    });
}

#[test]
fn a_connection_that_has_said_nothing_delays_no_reload() {
    let server = Server::script(APP).args(["--workers", "1"]).start();
    let silent = server.connect();
    let old = ok(&server.get("/"));
    let reload = hearth(&server, &["reload", "app.php"]);
    assert_eq!(reload.status.code(), Some(0), "{reload:?}");
    eventually("the old worker has left", || {
        !server.workers().iter().any(|pid| pid.to_string() == old)
    });
    drop(silent);
    server.stop();
}
