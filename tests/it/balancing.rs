//! Connections spread evenly over the workers of direct dispatch, and none is lost on its way from one to another.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use testkit::http::Client;
use testkit::{Server, ServerBuilder, kill};

use crate::support::traffic::{Done, meanwhile};
use crate::support::{eventually, hearth, ok};

const APP: &str = r"return fn (Hearth\Request $request): string =>
    $request->path === '/port' ? $_SERVER['REMOTE_ADDR'] . ':' . $_SERVER['REMOTE_PORT'] : (string) getmypid();";

fn server(workers: &str) -> ServerBuilder {
    Server::script(APP).args(["--workers", workers, "--dispatch", "direct"])
}

/// Connections that stay open.
fn connections(server: &Server, number: usize) -> Vec<Client> {
    (0..number).map(|_| server.connect()).collect()
}

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// How many of these are served by each worker; all ask before any is answered.
fn per_worker(clients: &mut [Client]) -> Vec<usize> {
    clients.iter_mut().for_each(|client| client.send(GET));
    let mut found = BTreeMap::new();
    for client in clients {
        *found.entry(ok(&client.response())).or_insert(0) += 1;
    }
    found.into_values().collect()
}

fn assert_even(found: &[usize], workers: usize, connections: usize) {
    let even = connections / workers;
    assert!(
        found.len() == workers && found.iter().all(|&number| number.abs_diff(even) <= 1),
        "{found:?}"
    );
}

/// Until the server has seen that clients have hung up.
fn until_open(server: &Server, number: u64) {
    eventually("closed connections are counted", || {
        let status = hearth(server, &["status", "app.php", "--json"]).stdout;
        let status: serde_json::Value = serde_json::from_slice(&status).expect("JSON");
        let workers = status["workers"].as_array().expect("a list").iter();
        let open = workers.map(|worker| worker["connections"].as_u64().expect("a number"));
        open.sum::<u64>() == number
    });
}

#[test]
fn connections_are_spread_evenly() {
    let server = server("4").start();
    let mut clients = connections(&server, 64);
    assert_even(&per_worker(&mut clients), 4, 64);
    // Clients that leave make room on their workers.
    clients.truncate(16);
    until_open(&server, 16);
    clients.extend(connections(&server, 48));
    assert_even(&per_worker(&mut clients), 4, 64);
    drop(clients);
    server.stop();
}

#[test]
fn two_clients_have_a_worker_each() {
    let server = server("2").start();
    for _ in 0..8 {
        let mut clients = connections(&server, 2);
        assert_eq!(per_worker(&mut clients), [1, 1]);
        drop(clients);
        until_open(&server, 0);
    }
    server.stop();
}

#[test]
fn a_connection_handed_over_is_still_its_clients() {
    let server = server("4").start();
    for mut client in connections(&server, 32) {
        let port = client.stream().local_addr().expect("an address");
        assert_eq!(ok(&client.get("/port")), port.to_string());
    }
    server.stop();
}

#[test]
fn connections_of_a_unix_socket_too() {
    let server = server("4").args(["--listen", "unix:socket"]).start();
    let path = server.directory().join("socket");
    let mut streams: Vec<UnixStream> = (0..16)
        .map(|_| UnixStream::connect(&path).expect("it accepts"))
        .collect();
    let mut found = BTreeMap::new();
    for stream in &mut streams {
        stream.write_all(GET.as_bytes()).expect("it reads");
    }
    for stream in &mut streams {
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer).expect("it answers");
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        let pid = answer.rsplit("\r\n").next().expect("a body").to_owned();
        *found.entry(pid).or_insert(0) += 1;
    }
    assert_even(&found.into_values().collect::<Vec<_>>(), 4, 16);
    drop(streams);
    server.stop();
}

/// A stopped worker takes nothing, so that what is handed to it lies in its inbox when it dies.
#[test]
fn what_was_on_its_way_to_a_worker_that_died_is_its_successors() {
    let server = server("4").start();
    for round in 0..3 {
        let victim = server.workers()[round];
        kill(victim, Signal::STOP);
        let mut clients = connections(&server, 40);
        clients.iter_mut().for_each(|client| client.send(GET));
        let mut waiting = clients.split_off(20);
        // When the last of the others have been answered, those for the victim have been handed over.
        let mut others = 0;
        for client in &mut clients {
            client.set_timeout(Duration::from_millis(300));
            others += usize::from(client.try_response(false).is_ok());
        }
        assert!((1..20).contains(&others), "{others}");
        kill(victim, Signal::KILL);
        for client in &mut waiting {
            assert_ne!(ok(&client.response()), victim.to_string());
        }
        drop((clients, waiting));
        eventually("a successor", || server.workers().len() == 4);
    }
    server.stop();
}

/// Connections that stay and connections for one request, while generations and workers change.
#[test]
fn reloads_under_load_lose_nothing() {
    let server = server("4").args(["--max-requests", "2000"]).start();
    let (failed, answered) = (AtomicU64::new(0), AtomicU64::new(0));
    let address = server.address();
    let request = |client: &mut Client, head: &str| -> bool {
        client.send(head);
        let answer = client.try_response(false);
        let count = if answer.as_ref().is_ok_and(|answer| answer.status == 200) {
            &answered
        } else {
            &failed
        };
        count.fetch_add(1, Ordering::Relaxed);
        answer.is_ok_and(|answer| answer.header("connection") != Some("close"))
    };
    let client = |number: usize, done: &Done| {
        while !done.is_done() {
            let mut client = Client::connect(&address);
            if number.is_multiple_of(2) {
                request(
                    &mut client,
                    "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                );
            } else {
                while request(&mut client, GET) && !done.is_done() {}
            }
        }
    };
    meanwhile(8, client, || {
        for _ in 0..10 {
            let reload = hearth(&server, &["reload", "app.php"]);
            assert!(reload.status.success(), "{reload:?}");
        }
    });
    let answered = answered.into_inner();
    assert_eq!(failed.into_inner(), 0, "of {answered}");
    assert!(answered > 1000, "{answered}");
    // Whatever came and went, the count is right: what comes now is spread evenly.
    eventually("the old have left", || server.workers().len() == 4);
    let mut clients = connections(&server, 32);
    assert_even(&per_worker(&mut clients), 4, 32);
    drop(clients);
    server.stop();
}
