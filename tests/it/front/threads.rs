//! A front with several threads does what one with a single thread does, and limits hold for all of them together.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::time::Duration;

use rustix::process::Signal;
use testkit::http::Client;
use testkit::{Server, ServerBuilder, kill};

use super::{APP, all_finish, balanced, busy_worker, killed_under_load, metric, until_made};
use crate::support::traffic::under_load;
use crate::support::{eventually, hearth, let_go, ok, until_handled};

fn threads(server: ServerBuilder, threads: &str) -> ServerBuilder {
    server.args(["--front-threads", threads])
}

/// Those of this process that accept.
fn accepting(front: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{front}/task")).expect("it runs");
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    let names = tasks.filter_map(name);
    names
        .filter(|name| name.starts_with("hearth-front "))
        .count()
}

#[test]
fn all_threads_answer_and_both_workers_serve_them() {
    for number in [2, 3] {
        let server = threads(balanced(2), &number.to_string()).start();
        let front = server.fronts()[0];
        assert_eq!(accepting(front), number);
        let (answered, _) = under_load(
            &server,
            12,
            "/",
            |_| false,
            || {
                eventually("many are answered", || {
                    metric(&server, "hearth_requests_total") > 2_000
                });
            },
        );
        assert!(answered > 2_000);
        let words = hearth(&server, &["status", "app.php"]);
        let words = String::from_utf8_lossy(&words.stdout).into_owned();
        let line = words.lines().find(|line| line.starts_with("front "));
        let line = line.unwrap_or_else(|| panic!("{words}"));
        assert_eq!(line.matches(" + ").count(), number - 1, "{line}");
        // More than two streams at a time, each of several pieces, in and out.
        let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        for client in &mut clients {
            assert_eq!(client.response().body.len(), 320 << 16);
            let body = "x".repeat(3 << 20);
            client.send(format!(
                "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
        for client in &mut clients {
            assert_eq!(ok(&client.response()), (3 << 20).to_string());
        }
        server.stop();
    }
}

#[test]
fn limits_hold_for_all_threads_together() {
    let server = threads(balanced(1), "3")
        .args(["--queue", "4", "--max-connections", "20"])
        .start();
    let mut first = server.connect();
    first.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    busy_worker(&server);
    let mut clients: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        if n < 4 {
            eventually("it waits", || {
                metric(&server, "hearth_queue_length") == n as u64 + 1
            });
        } else {
            assert_eq!(client.response().status, 503, "{n}");
        }
    }
    // A head has begun: these are not idle.
    let mut others: Vec<Client> = (0..7).map(|_| server.connect()).collect();
    for client in &mut others {
        client.send("GET / HTTP/1.1\r\n");
    }
    eventually("as many are open as may be", || {
        metric(&server, "hearth_front_connections") == 20
    });
    // Eight of the twelve are idle, some of them in another thread than the one that a further connection comes to.
    for _ in 0..4 {
        eventually("an idle one ends for another", || {
            let mut client = server.connect();
            client.set_timeout(Duration::from_millis(100));
            client.send("GET / HTTP/1.1\r\n");
            let is_admitted = client.try_response(false).is_err();
            others.push(client);
            is_admitted
        });
    }
    assert!(metric(&server, "hearth_front_connections") <= 20);
    let_go(&server);
    for client in clients.iter_mut().take(4) {
        ok(&client.response());
    }
    ok(&first.response());
    drop(others);
    server.stop();
}

#[test]
fn deaths_and_reloads_lose_only_what_was_in_flight_there() {
    let server = threads(balanced(3), "3").start();
    let kills = 10;
    let (answered, failed) = killed_under_load(&server, 6, kills);
    // One of each thread at most, whose workers are the same.
    assert!(failed <= kills, "{failed} of {answered} failed");
    let old = server.workers();
    under_load(
        &server,
        6,
        "/",
        |_| false,
        || {
            let done = hearth(&server, &["reload", "app.php"]);
            assert!(done.status.success(), "{done:?}");
        },
    );
    eventually("the old ones leave", || {
        let workers = server.workers();
        workers.len() == 3 && workers.iter().all(|pid| !old.contains(pid))
    });
    server.stop();
}

#[test]
fn a_front_that_dies_is_replaced_with_all_its_threads() {
    let server = threads(balanced(2), "3").start();
    let (workers, front) = (server.workers(), server.fronts()[0]);
    kill(front, Signal::KILL);
    server.expect_log("another takes its place");
    eventually("all its threads accept", || {
        let fronts = server.fronts();
        fronts
            .first()
            .is_some_and(|pid| *pid != front && accepting(*pid) == 3)
    });
    let mut clients: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    for client in &mut clients {
        let pid: u32 = ok(&client.get("/")).parse().expect("a pid");
        assert!(workers.contains(&pid), "a worker was lost with the front");
    }
    server.stop();
}

#[test]
fn clients_that_leave_end_their_requests_and_a_drain_ends_all_threads() {
    let mut server = threads(balanced(1), "2").start();
    let mut leaves = server.connect();
    leaves.send("GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n");
    until_made(&server, "begun");
    drop(leaves);
    until_made(&server, "ended");
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    eventually("all but one wait", || {
        metric(&server, "hearth_queue_length") == 5
    });
    server.signal(Signal::TERM);
    server.expect_log("stopping");
    let_go(&server);
    for client in &mut clients {
        ok(&client.response());
    }
    assert!(server.wait_exit(Duration::from_secs(20)).is_some());
    server.stop();
}

/// Both threads count on the worker that is idle, and only one of them gets it.
#[test]
fn requests_that_come_to_two_threads_at_one_moment_are_counted_as_waiting() {
    let server = threads(balanced(1), "2").start();
    for _ in 0..20 {
        let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        let together = Barrier::new(clients.len());
        std::thread::scope(|scope| {
            for client in &mut clients {
                scope.spawn(|| {
                    together.wait();
                    client.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
                });
            }
        });
        eventually("all but one wait", || {
            metric(&server, "hearth_queue_length") == 3
        });
        let_go(&server);
        for client in &mut clients {
            ok(&client.response());
        }
        assert_eq!(metric(&server, "hearth_queue_length"), 0);
        std::fs::remove_file(server.directory().join("go")).expect("it was made");
    }
    server.stop();
}

#[test]
fn workers_come_for_requests_of_any_thread() {
    let server = Server::script(APP)
        .args(["--admin", "127.0.0.1:0", "--concurrency", "1"])
        .args(["--workers-min", "1", "--workers-max", "6"])
        .args(["--idle-timeout", "0.5", "--front-threads", "3"])
        .start();
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    until_handled(&server, 6);
    assert_eq!(metric(&server, "hearth_workers_added_total"), 5);
    all_finish(server, clients);
}

#[test]
fn an_address_and_the_spool_have_limits_for_all_threads_together() {
    let server = threads(balanced(2), "3")
        .args(["--max-connections-per-address", "6", "--max-spool", "600K"])
        .start();
    let mut six: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut six {
        ok(&client.get("/"));
    }
    for _ in 0..6 {
        let mut further = server.connect();
        assert_eq!(further.response().status, 503);
    }
    server.expect_log("http.max_connections_per_address");
    // All but the last byte of each lies in a temporary file, of whichever thread.
    let length = 150_000;
    let head = format!("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    for client in &mut six {
        client.send(head.clone() + &"x".repeat(length - 1));
    }
    server.expect_log("http.max_spool");
    let mut answered = 0;
    for client in &mut six {
        client.set_timeout(Duration::from_millis(300));
        if let Ok(response) = client.try_response(false) {
            assert_eq!(response.status, 507);
            continue;
        }
        client.send("x");
        client.set_timeout(Duration::from_secs(10));
        assert_eq!(ok(&client.response()), length.to_string());
        answered += 1;
    }
    assert!((2..6).contains(&answered), "{answered} of 900 KB in 600 KB");
    server.stop();
}

#[test]
fn each_thread_accepts_from_a_unix_socket() {
    let server = threads(balanced(2), "2")
        .args(["--listen", "unix:socket"])
        .start();
    let path = server.directory().join("socket");
    let mut clients: Vec<UnixStream> = (0..12)
        .map(|_| UnixStream::connect(&path).expect("it accepts"))
        .collect();
    for round in 0..3 {
        for client in &mut clients {
            client
                .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                .expect("it reads");
        }
        for client in &mut clients {
            let mut answer = [0; 1024];
            let length = client.read(&mut answer).expect("it answers");
            assert!(answer[..length].starts_with(b"HTTP/1.1 200 "), "{round}");
        }
    }
    server.stop();
}
