//! As many workers as are needed, and how long a request may wait for one.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::http::Client;
use testkit::{Server, ServerBuilder, kill};

use super::{all_finish, metric, status};
use crate::support::traffic::under_load;
use crate::support::{eventually, hearth, let_go, ok, until_handled};

const APP: &str = r#"return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/wait': while (!file_exists('go')) { usleep(2000); clearstatcache(); } break;
        case '/compute': while (!file_exists('go')) { clearstatcache(); } break;
        case '/query': usleep(10000); break;
    }
    return (string) getmypid();
};"#;

fn server<const N: usize>(words: [&str; N]) -> ServerBuilder {
    Server::script(APP)
        .args(["--admin", "127.0.0.1:0", "--concurrency", "1"])
        .args(words)
}

fn send_request(server: &Server, target: &str) -> Client {
    let mut client = server.connect();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
    client
}

#[test]
fn workers_come_when_requests_wait_and_leave_when_they_have_nothing_to_do() {
    let words = ["--workers-min=1", "--workers-max=6", "--idle-timeout=0.5"];
    let server = server(words).start();
    assert_eq!(server.workers().len(), 1);
    let mut clients: Vec<Client> = (0..6).map(|_| send_request(&server, "/wait")).collect();
    until_handled(&server, 6);
    assert_eq!(metric(&server, "hearth_workers_added_total"), 5);
    // Beyond the greatest number they wait.
    clients.push(send_request(&server, "/"));
    eventually("one waits", || metric(&server, "hearth_queue_length") == 1);
    server.expect_log("no worker can be added: workers.max = 6");
    let words = hearth(&server, &["status", "app.php"]);
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(
        words.contains("\nworkers     6, of 1 to 6; 5 added, 0 retired"),
        "{words}"
    );
    let_go(&server);
    for client in &mut clients {
        ok(&client.response());
    }
    eventually("one is left", || server.workers().len() == 1);
    assert_eq!(metric(&server, "hearth_workers_retired_total"), 5);
    assert!(status(&server).contains("\"healthy\":true"));
    assert_eq!(
        server
            .log()
            .lines()
            .iter()
            .filter(|line| line.contains("ERROR"))
            .count(),
        0
    );
    server.stop();
}

#[test]
fn a_worker_is_there_before_a_request_needs_it() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let words = ["--workers-min=1", "--workers-max=4", "--idle-timeout=0.5"];
    let server = server(words).start();
    let mut clients = Vec::new();
    for busy in 1..4 {
        clients.push(send_request(&server, "/wait"));
        until_handled(&server, busy as u64);
        eventually("one more is there", || server.workers().len() == busy + 1);
    }
    clients.push(send_request(&server, "/wait"));
    until_handled(&server, 4);
    all_finish(server, clients);
}

/// If it left, the front would ask for the next at once, again and again.
#[test]
fn the_worker_that_is_there_in_advance_stays() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let words = ["--workers-min=1", "--workers-max=4", "--idle-timeout=0.05"];
    let server = server(words).start();
    let mut busy = send_request(&server, "/wait");
    until_handled(&server, 1);
    eventually("one more is there", || server.workers().len() == 2);
    // For as long as it would take to leave many times.
    std::thread::sleep(Duration::from_secs(1));
    let added = metric(&server, "hearth_workers_added_total");
    assert!(added <= 3, "{added} were added");
    let_go(&server);
    ok(&busy.response());
    eventually("one is left", || server.workers().len() == 1);
    server.stop();
}

/// Twice as many as there are at a time, and when those have come, again.
#[test]
fn many_requests_at_once_have_their_workers_within_moments() {
    let words = ["--workers-min=1", "--workers-max=32", "--idle-timeout=0.5"];
    let server = server(words).start();
    let mut clients: Vec<Client> = (0..32).map(|_| send_request(&server, "/wait")).collect();
    until_handled(&server, 32);
    let waited = metric(&server, "hearth_queued_microseconds_total");
    let_go(&server);
    for client in &mut clients {
        ok(&client.response());
    }
    // A few at a time, ever more seldom, it was half a second for each.
    assert!(waited < 32 * 300_000, "{waited} us in all");
    let log = server.log().lines().join("\n");
    assert!(
        !log.contains("no worker can be added"),
        "32 are enough: {log}"
    );
    eventually("one is left", || server.workers().len() == 1);
    server.stop();
}

#[test]
fn no_more_workers_are_added_than_processors_can_use() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let server = server([
        "--workers-min",
        "1",
        "--workers-max",
        "auto",
        "--idle-timeout",
        "0.5",
    ])
    .start();
    let clients: Vec<Client> = (0..processors + 4)
        .map(|_| send_request(&server, "/compute"))
        .collect();
    until_handled(&server, processors as u64);
    // For as long as it would take to add many more.
    std::thread::sleep(Duration::from_millis(300));
    let workers = server.workers().len();
    assert!(workers <= processors + 1, "{workers} workers compute");
    all_finish(server, clients);
}

#[test]
fn load_that_comes_and_goes_and_reloads_lose_no_request() {
    let words = [
        "--workers-min=1",
        "--workers-max=auto",
        "--idle-timeout=0.05",
    ];
    let server = server(words).start();
    let mut most = 0;
    for _ in 0..3 {
        let load = || {
            eventually("there are more", || {
                most = most.max(server.workers().len());
                server.workers().len() >= 4
            });
            assert!(hearth(&server, &["reload", "app.php"]).status.success());
        };
        under_load(&server, 8, "/query", |_| false, load);
        eventually("few are left", || server.workers().len() <= 2);
    }
    server.stop();
}

#[test]
fn a_handler_for_many_at_a_time_gets_workers_for_what_computes() {
    let server = Server::script(APP)
        .args(["--admin", "127.0.0.1:0", "--concurrency", "8"])
        .args([
            "--workers-min",
            "1",
            "--workers-max",
            "2",
            "--idle-timeout",
            "0.5",
        ])
        .start();
    let mut slow = send_request(&server, "/compute");
    until_handled(&server, 1);
    // With one processor there would be nothing to gain.
    if std::thread::available_parallelism().map_or(1, usize::from) > 1 {
        ok(&server.get("/"));
        assert_eq!(server.workers().len(), 2);
    }
    let_go(&server);
    ok(&slow.response());
    eventually("one is left", || server.workers().len() == 1);
    server.stop();
}

/// A worker that comes to a front with a request of the front before claims nothing soon.
#[test]
fn workers_come_behind_a_front_that_found_all_of_them_busy() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        // Its worker computes: another would bring nothing.
        return;
    }
    let words = ["--workers-min=1", "--workers-max=2", "--idle-timeout=0.5"];
    let server = server(words).start();
    let busy = send_request(&server, "/compute");
    until_handled(&server, 1);
    kill(server.fronts()[0], Signal::KILL);
    server.expect_log("another takes its place");
    drop(busy);
    let worker: u32 = ok(&server.get("/")).parse().expect("a pid");
    assert!(server.workers().contains(&worker));
    assert_eq!(server.workers().len(), 2);
    let_go(&server);
    eventually("one is left", || server.workers().len() == 1);
    server.stop();
}

#[test]
fn a_request_that_waits_for_too_long_is_answered_503() {
    let server = server(["--workers", "1", "--queue-timeout", "0.4"]).start();
    let mut first = send_request(&server, "/wait");
    until_handled(&server, 1);
    let began = Instant::now();
    let mut second = send_request(&server, "/");
    let refused = second.response();
    // The front counts whole milliseconds.
    assert!(began.elapsed() > Duration::from_millis(395));
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    eventually("it is counted", || {
        metric(&server, "hearth_queue_timeouts_total") == 1
    });
    assert_eq!(metric(&server, "hearth_queue_length"), 0);
    let_go(&server);
    ok(&first.response());
    ok(&second.get("/"));
    server.stop();
}

#[test]
fn a_queue_that_never_empties_lets_each_request_wait_for_a_tenth_of_the_time() {
    let server = server(["--workers", "1", "--queue-timeout", "3"]).start();
    let mut first = send_request(&server, "/wait");
    until_handled(&server, 1);
    // One after the other, so that some wait at any time.
    let mut waiting = vec![send_request(&server, "/")];
    std::thread::sleep(Duration::from_millis(1500));
    waiting.push(send_request(&server, "/"));
    assert_eq!(waiting[0].response().status, 503);
    let began = Instant::now();
    let mut late = send_request(&server, "/");
    assert_eq!(late.response().status, 503);
    assert!(
        began.elapsed() < Duration::from_millis(1400),
        "{:?}",
        began.elapsed()
    );
    let_go(&server);
    ok(&first.response());
    server.stop();
}
