//! Locks that are taken or given back while Redis is not reachable, and those of a Redis that is full.
#![forbid(unsafe_code)]

mod support;

use std::time::Duration;

use cache::{Claim, Owner, Refused, Space, Write};
use support::relay::Relay;
use support::{Server, Worker, until};
use testkit::service::Redis;

fn lock_named(worker: &Worker, name: &str) -> Result<Claim, Refused> {
    worker
        .tiered()
        .claim(Space::Lock, name.as_bytes(), Owner::here(1), 60_000_000)
}

fn lock(worker: &Worker) -> Result<Claim, Refused> {
    lock_named(worker, "l")
}

#[track_caller]
fn taken(worker: &Worker) -> u64 {
    match lock(worker) {
        Ok(Claim::Taken(token)) => token,
        other => panic!("{other:?}"),
    }
}

/// A server behind a relay, and one that is always connected.
fn behind_relay() -> (Redis, Relay, [Server; 2]) {
    let redis = Redis::start();
    let relay = Relay::to(redis.port);
    let cut = Server::at(&format!("redis://127.0.0.1:{}", relay.port));
    cut.until_there();
    let other = Server::of(&redis);
    (redis, relay, [cut, other])
}

#[test]
fn a_lock_that_was_given_back_meanwhile_is_free_when_redis_is_there() {
    let (_redis, relay, [cut, other]) = behind_relay();
    let (a, b) = (cut.worker(), other.worker());
    let token = taken(&a);
    relay.stop();
    let given = a.tiered().give_back(Space::Lock, b"l", token);
    assert_eq!(given, Err(Refused::Away));
    // Nothing ends the others' locks, nor does the end of all values lose what is to be given back.
    a.tiered().clear().unwrap();
    relay.close();
    cut.until_there();
    let token = taken(&b);
    assert_eq!(b.tiered().holds_claim(Space::Lock, b"l", token), Ok(true));
}

#[test]
fn a_lock_that_redis_took_too_late_is_free_when_redis_is_there() {
    let (_redis, relay, [cut, other]) = behind_relay();
    let (a, b) = (cut.worker(), other.worker());
    relay.stop();
    assert_eq!(lock(&a), Err(Refused::Away));
    // What was sent arrives now.
    relay.resume();
    cut.until_there();
    taken(&b);
}

/// The attempt that failed had the same name and the same owner.
#[test]
fn a_lock_that_is_held_stays_after_an_attempt_to_take_it_again() {
    let (_redis, relay, [cut, other]) = behind_relay();
    let (a, b) = (cut.worker(), other.worker());
    let token = taken(&a);
    relay.stop();
    assert_eq!(lock(&a), Err(Refused::Away));
    relay.resume();
    cut.until_there();
    until("it is held", || {
        a.tiered().holds_claim(Space::Lock, b"l", token) == Ok(true)
    });
    assert!(matches!(lock(&b), Ok(Claim::Held(_))));
}

/// Redis evicts what was not used for the longest time.
#[test]
fn a_lock_that_is_held_is_not_evicted_by_values() {
    const LOCKS: usize = 10;
    let redis = Redis::with(&["--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru"]);
    let server = Server::of(&redis);
    let worker = server.worker();
    let names: Vec<String> = (0..LOCKS).map(|n| format!("l{n}")).collect();
    let tokens: Vec<u64> = names
        .iter()
        .map(|name| match lock_named(&worker, name) {
            Ok(Claim::Taken(token)) => token,
            other => panic!("{other:?}"),
        })
        .collect();
    let text = [b'x'; 20_000];
    let fill = |from: usize| {
        for n in from..from + 250 {
            let key = format!("v{n}");
            worker.write(&Write::plain(key.as_bytes(), &text));
        }
    };
    fill(0);
    // Redis knows when a key was used to the second.
    std::thread::sleep(Duration::from_secs(4));
    fill(250);
    for (name, token) in names.iter().zip(tokens) {
        let held = worker
            .tiered()
            .holds_claim(Space::Lock, name.as_bytes(), token);
        assert_eq!(held, Ok(true), "{name}");
    }
    assert!(!redis.cli(&["INFO", "stats"]).contains("evicted_keys:0"));
}
