//! Workers behind the front that serve many requests at a time.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use testkit::http::Client;
use testkit::{Server, ServerBuilder, kill};

use super::{metric, until_made};
use crate::support::traffic::under_load;
use crate::support::{eventually, hearth, let_go, ok, until_handled};

const APP: &str = r#"return function (Hearth\Request $request) {
    $name = $request->query('name', '');
    switch ($request->path) {
        case '/wait': while (!file_exists('go')) { usleep(2000); clearstatcache(); } break;
        case '/compute': touch('computes'); while (!file_exists('go')) { clearstatcache(); } break;
        case '/sleep': try { touch("begun-$name"); sleep(20); } finally { touch("ended-$name"); } break;
        case '/later': Hearth\defer(function () { while (!file_exists('go')) { usleep(2000); clearstatcache(); } touch('deferred'); }); break;
        case '/stream': return (function () use ($name) { for ($n = 0; $n < 40; $n++) { usleep(500); yield str_repeat($name, 20000); } })();
        case '/endless': return (function () { try { for (;;) { yield str_repeat('e', 65536); } } finally { touch('ended'); } })();
        case '/upload': usleep(20000); return $request->body();
    }
    return (string) getmypid();
};"#;

fn concurrent(workers: u32, concurrency: u32) -> ServerBuilder {
    Server::script(APP)
        .args(["--dispatch", "balanced", "--admin", "127.0.0.1:0"])
        .args(["--concurrency", &concurrency.to_string()])
        .args(["--workers", &workers.to_string()])
}

/// A client that has asked for this.
fn send_request(server: &Server, method: &str, target: &str) -> Client {
    let mut client = server.connect();
    client.send(format!(
        "{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    ));
    client
}

#[test]
fn a_worker_takes_as_many_as_it_may_and_the_rest_waits() {
    let server = concurrent(1, 4).start();
    let mut clients: Vec<Client> = (0..6)
        .map(|_| send_request(&server, "GET", "/wait"))
        .collect();
    eventually("two wait", || metric(&server, "hearth_queue_length") == 2);
    assert_eq!(server.in_flight(), 4);
    let_go(&server);
    for client in &mut clients {
        ok(&client.response());
    }
    assert_eq!(metric(&server, "hearth_queue_length"), 0);
    server.stop();
}

#[test]
fn a_worker_that_computes_gets_nothing_more() {
    let server = concurrent(2, 64).start();
    let mut slow = send_request(&server, "GET", "/compute");
    until_made(&server, "computes");
    let others: BTreeSet<String> = (0..40).map(|_| ok(&server.get("/"))).collect();
    assert_eq!(others.len(), 1, "{others:?}");
    let mut waiting: Vec<Client> = (0..10)
        .map(|_| send_request(&server, "GET", "/wait"))
        .collect();
    until_handled(&server, 11);
    ok(&server.get("/"));
    let_go(&server);
    assert!(!others.contains(&ok(&slow.response())));
    for client in &mut waiting {
        assert!(others.contains(&ok(&client.response())));
    }
    server.stop();
}

#[test]
fn requests_that_wait_are_spread_over_the_workers() {
    let server = concurrent(3, 64).start();
    let mut clients = Vec::new();
    for number in 1..=9 {
        clients.push(send_request(&server, "GET", "/wait"));
        until_handled(&server, number);
    }
    let_go(&server);
    let mut found = BTreeMap::new();
    for client in &mut clients {
        *found.entry(ok(&client.response())).or_insert(0) += 1;
    }
    let found: Vec<u32> = found.into_values().collect();
    assert!(
        found.len() == 3 && found.iter().all(|number| (1..=5).contains(number)),
        "{found:?}"
    );
    server.stop();
}

#[test]
fn answers_of_one_worker_stream_side_by_side() {
    let server = concurrent(1, 64).start();
    let names = ["a", "b", "c", "d", "e", "f"];
    let targets = names.map(|name| format!("/stream?name={name}"));
    let (answers, _) = crate::support::at_once(&server, &targets);
    for (name, answer) in names.iter().zip(&answers) {
        assert!(ok(answer) == name.repeat(800_000), "{name}");
    }
    server.stop();
}

#[test]
fn a_client_that_reads_nothing_delays_no_other_answer_of_its_worker() {
    // Without a directory for temporary files the front keeps little of an answer.
    let server = concurrent(1, 64).env("TMPDIR", "/nowhere").start();
    let slow = send_request(&server, "GET", "/endless");
    let mut others: Vec<Client> = (0..3)
        .map(|_| send_request(&server, "GET", "/stream?name=s"))
        .collect();
    for client in &mut others {
        assert!(ok(&client.response()) == "s".repeat(800_000));
    }
    let front = server.fronts()[0];
    assert!(crate::support::resident(front) < 64 << 20);
    drop(slow);
    until_made(&server, "ended");
    ok(&server.get("/"));
    server.stop();
}

#[test]
fn a_slow_client_gets_all_that_was_held_back_for_it() {
    let server = concurrent(1, 64).env("TMPDIR", "/nowhere").start();
    let mut slow = send_request(&server, "GET", "/stream?name=h");
    let mut got = slow.head().expect("a head").body.len();
    loop {
        std::thread::sleep(std::time::Duration::from_millis(2));
        match slow.chunk().expect("a chunk").len() {
            0 => break,
            length => got += length,
        }
    }
    assert_eq!(got, 800_000);
    server.stop();
}

#[test]
fn one_client_of_several_that_leaves_cancels_its_own_request_only() {
    let server = concurrent(1, 64).start();
    let mut stays = send_request(&server, "GET", "/wait");
    let mut clients: Vec<Client> = (0..3)
        .map(|n| send_request(&server, "GET", &format!("/sleep?name={n}")))
        .collect();
    (0..3).for_each(|n| until_made(&server, &format!("begun-{n}")));
    drop(clients.remove(1));
    until_made(&server, "ended-1");
    assert!(!server.directory().join("ended-0").exists());
    assert!(!server.directory().join("ended-2").exists());
    let_go(&server);
    ok(&stays.response());
    drop(clients);
    until_made(&server, "ended-2");
    server.stop();
}

#[test]
fn uploads_at_the_same_time_reach_their_own_requests() {
    let server = concurrent(1, 64).start();
    let bodies: Vec<String> = (0..8)
        .map(|n| format!("{n}").repeat(100_000 + n * 1_000))
        .collect();
    let mut clients: Vec<Client> = bodies
        .iter()
        .map(|body| {
            let mut client = server.connect();
            let length = body.len();
            client.send(format!(
                "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
            client
        })
        .collect();
    for (client, body) in clients.iter_mut().zip(&bodies) {
        assert!(ok(&client.response()) == *body);
    }
    server.stop();
}

#[test]
fn of_the_requests_of_a_dead_worker_those_that_may_be_are_repeated_once() {
    let server = concurrent(1, 64).start();
    let worker = server.workers()[0];
    let mut gets: Vec<Client> = (0..4)
        .map(|_| send_request(&server, "GET", "/wait"))
        .collect();
    let mut posts: Vec<Client> = (0..3)
        .map(|_| send_request(&server, "POST", "/wait"))
        .collect();
    until_handled(&server, 7);
    kill(worker, Signal::KILL);
    for client in &mut posts {
        assert_eq!(client.response().status, 502);
    }
    until_handled(&server, 4);
    let_go(&server);
    for client in &mut gets {
        assert_ne!(ok(&client.response()), worker.to_string());
    }
    assert_eq!(metric(&server, "hearth_bad_gateway_total"), 3);
    assert_eq!(metric(&server, "hearth_retries_total"), 4);
    server.stop();
}

#[test]
fn deferred_work_keeps_its_place_and_its_worker_answers_others() {
    let server = concurrent(1, 2).start();
    ok(&server.get("/later"));
    ok(&server.get("/"));
    let mut waits = send_request(&server, "GET", "/wait");
    until_handled(&server, 2);
    let mut queued = send_request(&server, "GET", "/");
    eventually("it waits", || metric(&server, "hearth_queue_length") == 1);
    let_go(&server);
    until_made(&server, "deferred");
    ok(&waits.response());
    ok(&queued.response());
    server.stop();
}

#[test]
fn reloads_and_a_lost_front_under_load_fail_no_request_that_is_not_in_flight() {
    let server = concurrent(2, 64).start();
    let (answered, _) = under_load(
        &server,
        4,
        "/stream?name=r",
        |_| false,
        || {
            for _ in 0..3 {
                let output = hearth(&server, &["reload", "app.php"]);
                assert!(output.status.success());
            }
        },
    );
    assert!(answered > 0);
    let mut waits = send_request(&server, "GET", "/wait");
    until_handled(&server, 1);
    kill(server.fronts()[0], Signal::KILL);
    assert!(waits.try_response(false).is_err());
    server.expect_log("another takes its place");
    let workers = server.workers();
    let pid: u32 = ok(&server.get("/")).parse().expect("a pid");
    assert!(workers.contains(&pid));
    // What the lost front has asked for is cancelled.
    eventually("nothing is in flight", || server.in_flight() == 0);
    server.stop();
}
