//! Where the lines of the access log go: a file that is rotated, standard error, syslog.

use std::net::Shutdown;
use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;
use testkit::Server;

use super::access_log::{APP, app, values};
use super::{BOTH, lines, logged};
use crate::support::{TIMEOUT, eventually, example, hearth, ok};

#[test]
fn a_renamed_file_is_left_after_sigusr1() {
    for (dispatch, threads) in [("direct", "1"), ("balanced", "1"), ("balanced", "2")] {
        let server = app(dispatch).args(["--front-threads", threads]).start();
        let renamed = server.directory().join("access.log.1");
        ok(&server.get("/one"));
        values(&server, 1);
        std::fs::rename(server.directory().join("access.log"), &renamed).expect("renamed");
        ok(&server.get("/two"));
        assert_eq!(
            lines(&server, "access.log.1", 2).len(),
            2,
            "it is the same file still"
        );
        server.signal(Signal::USR1);
        let mut made = 0;
        eventually("lines go to the new file", || {
            made += 1;
            ok(&server.get("/three"));
            std::fs::read_to_string(server.directory().join("access.log"))
                .is_ok_and(|text| text.contains("/three"))
        });
        let pids = [server.fronts(), server.workers()].concat();
        for pid in pids {
            testkit::kill(pid, Signal::USR1);
        }
        ok(&server.get("/four"));
        server.stop();
    }
}

#[test]
fn what_a_site_was_asked_for_can_be_played_again() {
    let server = logged(Server::script(APP), "balanced", "access.log", "combined").start();
    for target in ["/a", "/b?c", "/a"] {
        ok(&server.get(target));
    }
    lines(&server, "access.log", 3);
    let copy = server.directory().join("then.log");
    std::fs::copy(server.directory().join("access.log"), &copy).expect("copied");
    let played = hearth(
        &server,
        &[
            "load",
            "-n",
            "12",
            "--access-log",
            "then.log",
            &server.url(),
        ],
    );
    assert!(played.status.success(), "{played:?}");
    let log = server.directory().join("access.log");
    eventually("both were asked for again", || {
        let now = std::fs::read_to_string(&log).expect("a log");
        let targets = ["\"GET /a HTTP/1.1\"", "\"GET /b?c HTTP/1.1\""];
        targets.iter().all(|target| now.matches(target).count() > 2)
    });
    server.stop();
}

#[test]
fn logrotate_as_in_the_guide_loses_no_line() {
    let server = app("balanced").start();
    let directory = server.directory().display().to_string();
    ok(&server.get("/before"));
    values(&server, 1);
    let reopen =
        "systemctl kill --kill-whom=main --signal=USR1 'hearth.service' 'hearth@*.service'";
    let rules = example("docs/guide/monitoring.md", "logrotate");
    let packaged = std::fs::read_to_string(testkit::checkout().join("packaging/deb/logrotate"));
    assert_eq!(packaged.expect("the package's"), rules);
    assert!(rules.contains(reopen), "{rules}");
    let rules = rules
        .replace("/var/log/hearth", &directory)
        .replace(reopen, &format!("kill -USR1 {}", server.pid()));
    std::fs::write(server.directory().join("rules"), rules).expect("written");
    let mut logrotate = std::process::Command::new("logrotate");
    let rotated = logrotate
        .args(["--force", "--state", "state", "rules"])
        .current_dir(server.directory())
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .status();
    assert!(rotated.expect("logrotate is installed").success());
    let there = server.directory().join("access.log");
    eventually("the new file is there", || there.exists());
    ok(&server.get("/after"));
    assert!(lines(&server, "access.log.1", 1)[0].contains("/before"));
    assert!(lines(&server, "access.log", 1)[0].contains("/after"));
    server.stop();
}

#[test]
fn lines_go_to_standard_error_and_to_the_systems_log() {
    for dispatch in BOTH {
        let server = logged(Server::script(APP), dispatch, "stderr", "common").start();
        ok(&server.get("/to-stderr"));
        let line = server.expect_log("/to-stderr");
        assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
        assert!(
            line.ends_with("\"GET /to-stderr HTTP/1.1\" 200 5"),
            "{line}"
        );
        server.stop();

        let directory = testkit::temporary();
        let path = directory.path().join("log");
        let daemon = UnixDatagram::bind(&path).expect("a socket");
        daemon.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let target = format!("syslog:{}", path.display());
        let server = logged(Server::script(APP), dispatch, &target, "common").start();
        let received = |daemon: &UnixDatagram| {
            let mut buffer = [0; 500];
            let length = daemon.recv(&mut buffer).expect("a message in time");
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        };
        ok(&server.get("/to-syslog"));
        let line = received(&daemon);
        assert!(
            line.starts_with("<30>hearth[") && line.contains("]: 127.0.0.1 - - ["),
            "{line}"
        );
        assert!(
            line.ends_with("\"GET /to-syslog HTTP/1.1\" 200 5"),
            "{line}"
        );
        // A program that another test is starting may have a copy of the socket until it is there.
        daemon.shutdown(Shutdown::Both).expect("shut down");
        drop(daemon);
        std::fs::remove_file(&path).expect("removed");
        ok(&server.get("/lost"));
        server.expect_log("lines of the access log are lost");
        let daemon = UnixDatagram::bind(&path).expect("a socket");
        daemon.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        ok(&server.get("/again"));
        assert!(received(&daemon).contains("/again"));
        server.stop();
    }
}

#[test]
fn a_log_that_cannot_be_written_keeps_the_server_from_starting() {
    let target = ["--access-log", "/nonexistent/access.log"];
    let stopped = Server::script(APP)
        .args(target)
        .try_start()
        .expect_err("it ends");
    let text = &stopped.log;
    assert!(
        text.contains(
            "hearth: cannot write the access log to /nonexistent/access.log: No such file"
        ),
        "{text}"
    );
    assert_eq!(stopped.status.code(), Some(2));
}
