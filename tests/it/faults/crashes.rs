//! Workers that die.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::Server;

use super::{APP, app};
use crate::support::{let_go, ok, one_worker, until_handled};

#[test]
fn a_crashed_worker_is_back_and_the_log_names_its_requests() {
    let server = app().start();
    let mut victim = server.connect();
    victim.send("GET /slow?victim HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let mut crash = server.connect();
    crash.send("GET /segv HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(crash.try_response(false).is_err() && victim.try_response(false).is_err());
    assert_eq!(ok(&server.get("/")), "fine");
    server.expect_log("/segv");
    server.expect_log("/slow");
    server.expect_log("SIGSEGV");
    server.stop();
}

#[test]
fn a_crash_leaves_the_other_workers_alone() {
    let server = Server::script(APP).args(["--workers", "2"]).start();
    let mut slow: Vec<_> = (0..16).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    until_handled(&server, 16);
    testkit::kill(server.workers()[0], Signal::ABORT);
    server.expect_log("SIGABRT");
    let_go(&server);
    let finished = slow
        .iter_mut()
        .filter_map(|client| client.try_response(false).ok())
        .count();
    assert!(
        (1..16).contains(&finished),
        "{finished} of 16 finished: both workers should have had some"
    );
    for _ in 0..20 {
        assert_eq!(ok(&server.get("/")), "fine");
    }
    server.stop();
}

#[test]
fn workers_that_keep_dying_are_restarted_with_back_off() {
    let server =
        one_worker("return function () { posix_kill(getmypid(), SIGKILL); sleep(1); };").start();
    let until = Instant::now() + Duration::from_secs(3);
    let mut deaths = 0;
    while Instant::now() < until {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let _ = client
            .stream()
            .set_read_timeout(Some(Duration::from_secs(2)));
        let _ = client.try_response(false);
        deaths += 1;
    }
    assert!(deaths < 60, "{deaths} deaths in three seconds: no back-off");
    assert!(
        testkit::in_session(server.pid()).contains(&server.pid()),
        "the supervisor is gone"
    );
    server.stop();
}
