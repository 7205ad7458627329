//! Redis dies, stops, forgets, refuses: what the servers that share it do meanwhile, and that nothing old is read afterwards.
#![forbid(unsafe_code)]

mod support;

use std::time::{Duration, Instant};

use cache::{Encoding, Owner, Refused, Space, Write};
use support::{Server, Worker, int, options, until};
use testkit::service::Redis;

fn two(redis: &Redis) -> (Server, Server, Worker, Worker) {
    let (first, second) = (Server::of(redis), Server::of(redis));
    let (a, b) = (first.worker(), second.worker());
    (first, second, a, b)
}

#[test]
fn without_redis_each_server_goes_on_alone_and_returns_without_anything_old() {
    let mut redis = Redis::later(&[]);
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let (first, second) = (Server::at(&url), Server::at(&url));
    let (a, b) = (first.worker(), second.worker());
    a.set("k", 1);
    b.set("k", 2);
    a.tagged("t", 1, &["tag"]);
    assert_eq!(
        (a.get("k"), b.get("k"), a.get("t")),
        (Some(1), Some(2), Some(1))
    );
    let lock = a
        .tiered()
        .claim(Space::Lock, b"l", Owner::here(1), 1_000_000);
    assert_eq!(lock, Err(Refused::Away), "two machines could have it");
    until("it is told why", || first.tier.status().error.is_some());
    assert!(first.tier.status().pending_deletes >= 2);
    redis.revive();
    first.until_there();
    second.until_there();
    assert_eq!((a.get("k"), b.get("k"), a.get("t")), (None, None, None));
    assert_eq!(first.tier.status().pending_deletes, 0);
    a.set("k", 3);
    b.comes("k", Some(3));
}

#[test]
fn redis_killed_and_back_empty() {
    let mut redis = Redis::start();
    let (first, second, a, b) = two(&redis);
    a.set("k", 1);
    a.increment("n", 5).unwrap();
    assert_eq!((b.get("k"), b.get("n")), (Some(1), Some(5)));
    redis.kill();
    first.until_away();
    second.until_away();
    assert_eq!(
        (a.get("k"), b.get("k")),
        (Some(1), Some(1)),
        "the memory goes on"
    );
    b.set("k", 2);
    assert_eq!((a.increment("n", 1), b.increment("n", 2)), (Ok(6), Ok(7)));
    redis.revive();
    first.until_there();
    second.until_there();
    assert_eq!((a.get("k"), b.get("k")), (None, None));
    // Redis had lost the five; what was added meanwhile is there.
    a.comes("n", Some(3));
    b.comes("n", Some(3));
}

#[test]
fn what_one_server_wrote_while_it_was_cut_off_ends_what_redis_had() {
    let redis = Redis::start();
    let (first, _second, a, b) = two(&redis);
    for key in ["set", "deleted", "tagged", "other"] {
        a.tagged(key, 1, if key == "tagged" { &["tag"] } else { &[] });
        assert_eq!(b.get(key), Some(1));
    }
    a.increment("n", 10).unwrap();
    redis.pause();
    let begin = Instant::now();
    a.set("set", 2);
    assert!(
        begin.elapsed() < Duration::from_millis(900),
        "{:?}",
        begin.elapsed()
    );
    assert!(!first.tier.status().is_there);
    assert_eq!(a.get("set"), Some(2));
    let begin = Instant::now();
    a.delete("deleted");
    a.delete_tag("tag");
    assert_eq!(a.increment("n", 1), Ok(11));
    assert_eq!(
        (a.get("deleted"), a.get("tagged"), a.get("other")),
        (None, None, Some(1))
    );
    // One that asked Redis would take the time limit, 300 ms.
    assert!(
        begin.elapsed() < Duration::from_millis(250),
        "{:?}",
        begin.elapsed()
    );
    redis.resume();
    first.until_there();
    for worker in [&a, &b] {
        for key in ["set", "deleted", "tagged"] {
            worker.comes(key, None);
        }
        worker.comes("other", Some(1));
        worker.comes("n", Some(11));
    }
    // The write that was under way when Redis stopped is not done after those that came later.
    a.set("set", 3);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!((a.get("set"), b.get("set")), (Some(3), Some(3)));
}

#[test]
fn a_connection_that_is_cut_misses_nothing() {
    let redis = Redis::start();
    let (first, second, a, b) = two(&redis);
    for round in 1..=30 {
        a.set("k", round);
        b.comes("k", Some(round));
        let disconnects = second.tier.status().disconnects;
        redis.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        a.set("k", -round);
        until("it was cut", || {
            second.tier.status().disconnects > disconnects
        });
        first.until_there();
        second.until_there();
        a.set("k", round + 1000);
        a.comes("k", Some(round + 1000));
        b.comes("k", Some(round + 1000));
    }
}

#[test]
fn what_redis_drops_is_dropped_here() {
    let redis = Redis::start();
    let (_first, _second, a, b) = two(&redis);
    a.set("k", 1);
    assert_eq!(b.get("k"), Some(1));
    redis.cli(&["FLUSHALL"]);
    a.comes("k", None);
    b.comes("k", None);
    // The scripts and the version of the whole are made again.
    a.set("k", 2);
    b.comes("k", Some(2));
    redis.cli(&["SCRIPT", "FLUSH"]);
    a.set("k", 3);
    b.comes("k", Some(3));
    // Something that this program did not write is none of its values.
    redis.cli(&["SET", "test:v:foreign", "x"]);
    assert_eq!(a.get("foreign"), None);
    assert_eq!(a.increment("foreign", 1), Err(Refused::Denied));
    redis.cli(&["HSET", "test:v:odd", "v", "x", "f", "0"]);
    assert_eq!(a.get("odd"), None);
    assert!(
        _first.tier.status().is_there,
        "it was refused, and that was all"
    );
}

#[test]
fn a_full_redis_refuses_writes_or_evicts_and_no_copy_outlives_its_value() {
    let redis = Redis::with(&["--maxmemory", "3mb"]);
    let (first, _second, a, b) = two(&redis);
    let bytes = vec![7; 20_000];
    let write = |key: &str| {
        a.tiered().write(&Write {
            encoding: Encoding::Plain,
            bytes: &bytes,
            ..int(key, 0)
        })
    };
    let full = (0..500).find(|n| write(&n.to_string()).is_err());
    let full = full.expect("it is full").to_string();
    assert_eq!(write(&full), Err(Refused::Full));
    assert_eq!(a.bytes(&full), None);
    assert!(first.tier.status().is_there);
    // By frequency: what all writes read, the version of all tags, is not evicted.
    redis.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"]);
    redis.cli(&["FLUSHALL"]);
    (0..300).for_each(|n| assert!(write(&format!("more {n}")).is_ok()));
    let mut evicted = 0;
    for n in 0..300 {
        let key = format!("more {n}");
        let is_there = || redis.cli(&["EXISTS", &format!("test:v:{key}")]) == "1";
        // A read too may have Redis evict.
        let (before, read, after) = (is_there(), b.bytes(&key).is_some(), is_there());
        assert!(read == before || read == after, "{key}");
        if !after {
            evicted += 1;
            until("its copy is gone", || !a.has_here(&key));
        }
    }
    assert!((50..300).contains(&evicted), "{evicted}");
}

#[test]
fn a_replica_is_no_cache_until_it_is_promoted() {
    let redis = Redis::start();
    let (first, _second, a, b) = two(&redis);
    a.set("k", 1);
    assert_eq!(b.get("k"), Some(1));
    redis.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    a.set("k", 2);
    assert!(!first.tier.status().is_there);
    assert_eq!(a.get("k"), Some(2));
    until("it is told", || {
        let error = first.tier.status().error;
        error.is_some_and(|error| error.contains("read only replica"))
    });
    redis.cli(&["REPLICAOF", "NO", "ONE"]);
    first.until_there();
    b.comes("k", None);
    a.comes("k", None);
}

#[test]
fn a_password_is_needed_told_and_not_shown() {
    let redis = Redis::with(&["--requirepass", "secret"]);
    let port = redis.port;
    let wrong = Server::at(&format!("redis://:wrong@127.0.0.1:{port}"));
    until("it is told", || {
        wrong
            .tier
            .status()
            .error
            .is_some_and(|error| error.contains("WRONGPASS") || error.contains("authentication"))
    });
    let shown = format!("{:?}", wrong.tier.status());
    assert!(
        !shown.contains("wrong@") && !shown.contains("secret"),
        "{shown}"
    );
    wrong.worker().set("k", 1);
    let right = Server::at(&format!("redis://:secret@127.0.0.1:{port}/3"));
    right.until_there();
    right.worker().set("k", 2);
    assert_eq!(
        right.tier.status().address,
        format!("redis://127.0.0.1:{port}/3")
    );
}

#[test]
fn another_prefix_is_another_cache() {
    let redis = Redis::start();
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let first = Server::of(&redis);
    let other = Server::with(
        tier::Options {
            prefix: "other:".into(),
            ..options(url)
        },
        1 << 20,
    );
    other.until_there();
    let (a, b) = (first.worker(), other.worker());
    a.set("k", 1);
    assert_eq!(b.get("k"), None);
    b.tiered().clear().unwrap();
    assert_eq!(a.get("k"), Some(1));
}
