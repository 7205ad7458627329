//! The command line as scripts and service managers use it.

use std::process::Output;

use rustix::process::Signal;
use testkit::{Server, ServerBuilder};

use crate::support::{TIMEOUT, UNTIL_GO, hearth, let_go, ok, until_handled};

const APP: &str = "return fn () => 'x';";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The state of a process that its parent has not waited for yet is that of a zombie.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    })
}

#[test]
fn stop_returns_when_the_server_is_gone() {
    for round in 0..8 {
        let server = Server::script(APP).args(["--workers", "1"]).start();
        let stop = hearth(&server, &["stop", "app.php"]);
        let (ended, sockets) = (has_ended(server.pid()), server.directory().join("hearth"));
        assert!(stop.status.success(), "{}", said(&stop));
        assert!(ended, "round {round}: the server still runs");
        let left = std::fs::read_dir(sockets).expect("a directory").count();
        assert_eq!(left, 0, "round {round}: the control socket is there");
        server.stop();
    }
}

fn slow() -> ServerBuilder {
    Server::script(&format!(
        "return function () {{ {UNTIL_GO} return 'done'; }};"
    ))
    .args(["--workers", "2"])
}

#[test]
fn a_signal_to_all_processes_at_once_is_one_wish_to_stop() {
    for dispatch in ["balanced", "direct"] {
        let mut server = slow().args(["--dispatch", dispatch]).start();
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        // As `timeout` does: its child, and then the group; and as a service manager does: everything of the unit.
        server.signal(Signal::TERM);
        server.expect_log("stopping");
        server.signal(Signal::TERM);
        for pid in testkit::in_session(server.pid()) {
            testkit::kill(pid, Signal::TERM);
        }
        let_go(&server);
        assert_eq!(ok(&client.response()), "done", "{dispatch}");
        let status = server.wait_exit(TIMEOUT).expect("it ends");
        assert_eq!(status.code(), Some(0));
        server.stop();
    }
}

#[test]
fn programs_that_php_starts_end_by_a_signal() {
    let server = Server::script(
        "return function () { $p = proc_open(['sleep', '60'], [], $pipes); proc_terminate($p); \
         while (proc_get_status($p)['running']) { usleep(1000); } return (string) proc_close($p); };",
    )
    .args(["--workers", "1"])
    .start();
    ok(&server.get("/"));
    server.stop();
}
