//! `hearth status` of all servers, and `--watch`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use testkit::Server;

use crate::support::{OTHER_USER, hearth, ok, start_as_other_user};

const APP: &str = "return fn () => 'ok';";

/// The row of the table about this server.
#[track_caller]
fn row(table: &str, server: &Server) -> Vec<String> {
    let app = server.directory().join("app.php").display().to_string();
    let row = table
        .lines()
        .find(|line| line.starts_with(&format!("{app} ")));
    let row = row.unwrap_or_else(|| panic!("no {app} in {table}"));
    row.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn without_an_app_all_servers_are_a_table() {
    let one = Server::script(APP).args(["--workers", "1"]).start();
    let two = Server::script(APP)
        .args(["--workers", "2", "--control", "here.sock"])
        .start();
    ok(&one.get("/"));
    let output = hearth(&one, &["status"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && table.starts_with("app "),
        "{table}"
    );
    for (server, workers, requests) in [(&one, "1", "1"), (&two, "2", "0")] {
        let row = row(&table, server);
        assert_eq!(row[2], server.pid().to_string(), "{row:?}");
        assert_eq!(row[3..7], ["running", workers, requests, "0"], "{row:?}");
        assert_eq!(row.last(), Some(&server.url()), "{row:?}");
    }
    let output = hearth(&one, &["status", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pids = all
        .as_array()
        .expect("a list")
        .iter()
        .map(|found| &found["status"]["pid"]);
    assert!(pids.into_iter().any(|pid| *pid == two.pid()), "{all}");
    one.stop();
    two.stop();
}

#[test]
fn root_sees_servers_of_other_users_and_they_see_their_own() {
    let Some(start) = start_as_other_user() else {
        return;
    };
    let own = Server::script(APP).start();
    let other = Server::script(APP)
        .inside(["sh", "-c", &start, "sh"])
        .start();
    let output = hearth(&own, &["status"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(row(&table, &own)[1], "root");
    assert_eq!(row(&table, &other)[1], "54321");
    // By its app, though its control socket is in no directory of root's.
    let app = other.directory().join("app.php").display().to_string();
    let output = hearth(&own, &["status", &app]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("pid {}", other.pid())), "{output:?}");
    let refused = hearth(&own, &["stop", &app]);
    assert_eq!(
        refused.status.code(),
        Some(1),
        "it is only looked at: {refused:?}"
    );
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("another user's (uid 54321)"), "{message}");
    let mut watch = Command::new(testkit::hearth())
        .args(["status", "--watch", &app])
        .env("XDG_RUNTIME_DIR", own.directory())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hearth starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("piped")).lines();
    let pid = format!("pid {}", other.pid());
    assert!(lines.any(|line| line.expect("text").contains(&pid)));
    watch.kill().expect("it runs");
    watch.wait().expect("it ends");
    let program = testkit::hearth().display().to_string();
    let output = Command::new(OTHER_USER[0])
        .args(&OTHER_USER[1..])
        .args([&program, "status", "--json"])
        .output()
        .expect("setpriv starts");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let users = all
        .as_array()
        .expect("a list")
        .iter()
        .map(|found| &found["user"]);
    assert!(users.into_iter().all(|user| *user == 54321), "{all}");
    other.stop();
    own.stop();
}

#[test]
fn watch_shows_what_happens_until_the_server_ends() {
    let server = Server::script(APP)
        .args(["--workers", "1", "--metrics-route", "/slow/*"])
        .start();
    let mut watch = Command::new(testkit::hearth())
        .args(["status", "--watch", "app.php"])
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hearth starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("piped")).lines();
    let mut next = |part: &str| {
        let line = lines
            .by_ref()
            .map(|line| line.expect("text"))
            .find(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("no {part}"))
    };
    next("app         ");
    ok(&server.get("/slow/1"));
    let row = next("/slow/*");
    assert!(row.contains("2xx") && row.contains(" ms"), "{row}");
    next("now         0.0 requests/s, 0 in flight, 0 waiting;");
    server.stop();
    next("the server has ended");
    assert!(watch.wait().expect("it ends").success());
}
