//! A server that does not keep up says so, and what to do.

use testkit::Server;

use super::{BOTH, occupied, one_at_a_time};
use crate::support::{let_go, ok, until_handled};

const APP: &str = "return function () { while (!file_exists('go')) { usleep(5000); clearstatcache(); } return 'ok'; };";

#[test]
fn requests_that_wait_for_long_are_a_warning_with_advice() {
    std::thread::scope(|scope| {
        for dispatch in BOTH {
            scope.spawn(move || are_a_warning_with_advice(dispatch));
        }
    });
}

fn are_a_warning_with_advice(dispatch: &str) {
    let server = one_at_a_time(Server::script(APP), dispatch).start();
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
    }
    let line = server.expect_log("and requests wait");
    for part in [
        " WARN supervisor: the only worker is busy for ",
        " waiting=1",
        " processors_idle=",
    ] {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
    let advice = [
        "; raise workers.count, or set workers.max ",
        "more workers would not help",
    ];
    assert!(advice.iter().any(|advice| line.contains(advice)), "{line}");
    let_go(&server);
    clients
        .iter_mut()
        .for_each(|client| drop(ok(&client.response())));
    server.stop();
}

#[test]
fn a_full_queue_is_a_warning() {
    for dispatch in BOTH {
        let server = one_at_a_time(Server::script(APP), dispatch)
            .args(["--queue", "0"])
            .start();
        let mut busy = occupied(&server, "/");
        for _ in 0..3 {
            assert_eq!(server.get("/").status, 503);
        }
        let line = server.expect_log("requests are answered 503");
        let expected = "the only worker is busy, and the queue is full (workers.queue = 0); raise workers.count, or set workers.max requests=";
        assert!(line.contains(expected), "{line}");
        let_go(&server);
        ok(&busy.response());
        server.stop();
    }
}

#[test]
fn requests_that_have_waited_in_vain_are_a_warning() {
    for dispatch in BOTH {
        let server = one_at_a_time(Server::script(APP), dispatch)
            .args(["--queue-timeout", "0.2"])
            .start();
        let mut first = server.connect();
        first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        assert_eq!(server.get("/").status, 503);
        let line = server.expect_log("requests are answered 503");
        assert!(line.contains("(workers.queue_timeout = 0.2)"), "{line}");
        let_go(&server);
        ok(&first.response());
        server.stop();
    }
}
