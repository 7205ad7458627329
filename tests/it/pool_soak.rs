//! Leases with faults, cancellations and exits: no place, no waiter and no healthy transaction is lost.
//!
//! `SOAK_LEASES=1000000 cargo test -p it -- pool_soak` makes that many leases; `SOAK_SEED=7` begins with another seed.

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use testkit::Server;
use testkit::service::MariaDb;

use crate::support::{eventually, ok};

/// Leases of the usual run.
const LEASES: u64 = 4_000;
const CLIENTS: u64 = 4;
const REST: &str = "[[0,0,0],[0,0,0],2,0,false]";

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Sends requests until one shows a problem or `leases` were made; every ninth client leaves.
fn request(server: &Server, seeds: &AtomicU64, leases: u64) -> (u64, Vec<String>) {
    let (mut committed, mut problems) = (0, Vec::new());
    let mut client = server.connect();
    while problems.is_empty() {
        let seed = seeds.fetch_add(1, Ordering::Relaxed);
        client.send(format!("GET /?seed={seed} HTTP/1.1\r\nHost: a\r\n\r\n"));
        if seed.is_multiple_of(9) {
            std::thread::sleep(Duration::from_micros(seed * 7919 % 9_000));
            client = server.connect();
            continue;
        }
        let answer = ok(&client.response());
        match answer
            .strip_prefix("ok ")
            .and_then(|n| n.parse::<u64>().ok())
        {
            Some(n) => committed += n,
            None => problems.push(format!("SOAK_SEED={seed}: {answer}")),
        }
        if server_leases(server) >= leases {
            break;
        }
    }
    (committed, problems)
}

fn server_leases(server: &Server) -> u64 {
    ok(&server.get("/leases")).parse().expect("a number")
}

fn server<const N: usize>(database: &MariaDb, silent: &TcpListener, words: [&str; N]) -> Server {
    Server::script(include_str!("pool_soak.php").trim_start_matches("<?php"))
        .args(words)
        .env("DSN", database.dsn())
        .env("SILENT", silent.local_addr().expect("bound").to_string())
        .start()
}

/// Requests that are ended by their time, or with their worker; the others say whether anything was lost.
fn send_requests(server: &Server, seeds: &AtomicU64, requests: u64) -> Vec<String> {
    let mut client = server.connect();
    let (mut answered, mut problems) = (0, Vec::new());
    loop {
        let seed = seeds.fetch_add(1, Ordering::Relaxed);
        if seed >= requests {
            assert!(answered > 0, "none was answered");
            return problems;
        }
        let request = format!("GET /hard?seed={seed} HTTP/1.1\r\nHost: a\r\n\r\n");
        // A connection that ended in between says so below.
        let _ = client.stream().write_all(request.as_bytes());
        match client.try_response(false) {
            Ok(response) if response.status == 200 && !response.text().starts_with("ok ") => {
                problems.push(format!("{seed}: {}", response.text()));
            }
            Ok(response) if response.status == 200 => answered += 1,
            Ok(response) => assert!(response.status >= 500, "{}", response.status),
            Err(_) => client = server.connect(),
        }
    }
}

/// Time limits and fatal errors: what they end is rolled back, and the places that their workers had are had again.
#[test]
fn time_limits_and_fatal_errors_lose_no_place_and_leave_no_half_transaction() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let database = MariaDb::start();
    let limits = [
        "--workers=2",
        "--request-timeout=0.06",
        "--ini=memory_limit=64M",
    ];
    let server = server(&database, &silent, limits);
    // Which takes longer than the limit on a busy machine.
    eventually("the table is made", || server.get("/open").status == 200);
    let seeds = AtomicU64::new(1);
    let requests = setting("SOAK_LEASES").unwrap_or(LEASES) / 10;
    let problems: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| send_requests(&server, &seeds, requests)))
            .collect();
        let ended = clients
            .into_iter()
            .map(|client| client.join().expect("it ends"));
        ended.flatten().collect()
    });
    assert!(problems.is_empty(), "{problems:#?}");
    server.expect_log("Allowed memory size");
    eventually("each worker comes to rest", || {
        (0..8).all(|_| ok(&server.get("/rest")) == REST)
    });
    for _ in 0..8 {
        assert_eq!(ok(&server.get("/all")), "all");
    }
    let rows = ok(&server.get("/rows"));
    assert!(
        rows.starts_with("[1,") || rows.starts_with("[\"1\""),
        "half a transaction: {rows}"
    );
    server.stop();
}

#[test]
fn leases_lose_no_place_no_waiter_and_no_healthy_transaction() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let database = MariaDb::start();
    let server = server(&database, &silent, ["--workers", "1"]);
    ok(&server.get("/open"));
    let seeds = AtomicU64::new(setting("SOAK_SEED").unwrap_or(1));
    let leases = setting("SOAK_LEASES").unwrap_or(LEASES);
    let (committed, problems) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| request(&server, &seeds, leases)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("it ends"))
            .fold((0, Vec::new()), |(sum, mut all), (n, problems)| {
                all.extend(problems);
                (sum + n, all)
            })
    });
    assert!(problems.is_empty(), "{problems:#?}");
    eventually("all comes to rest", || ok(&server.get("/rest")) == REST);
    assert_eq!(ok(&server.get("/all")), "all");
    let rows = ok(&server.get("/rows"));
    let there: u64 = rows
        .trim_matches(|c: char| !c.is_ascii_digit())
        .rsplit(|c: char| !c.is_ascii_digit())
        .next()
        .and_then(|n| n.parse().ok())
        .expect("a number");
    assert!(
        rows.starts_with("[1,") || rows.starts_with("[\"1\""),
        "half a transaction: {rows}"
    );
    // Those whose clients have left were not told.
    assert!(there >= committed, "{there} of {committed} committed");
    server.stop();
}
