//! What one server writes, another reads: each operation, over two servers and a real Redis.
#![forbid(unsafe_code)]

mod support;

use std::time::{Duration, Instant};

use cache::{Encoding, Refused, Write};
use support::{int, two, until, workers};

#[test]
fn what_one_writes_the_other_reads_and_keeps() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    assert_eq!(b.get("k"), None);
    a.set("k", 1);
    assert!(a.has_here("k"), "its own copy is there");
    assert_eq!(a.get("k"), Some(1));
    b.comes("k", Some(1));
    let reads = second.tier.status().reads;
    assert!(b.has_here("k") && b.get("k") == Some(1));
    assert_eq!(second.tier.status().reads, reads, "a copy causes no read");
    b.set("k", 2);
    assert_eq!(b.get("k"), Some(2));
    a.comes("k", Some(2));
    assert!(a.delete("k") && !a.delete("k"));
    assert_eq!(a.get("k"), None);
    b.comes("k", None);
}

#[test]
fn values_of_each_form_come_as_they_were() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let bytes: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
    for (key, encoding) in [("plain", Encoding::Plain), ("object", Encoding::Serialized)] {
        assert!(a.write(&Write {
            encoding,
            bytes: &bytes,
            ..int(key, 0)
        }));
        assert_eq!(b.bytes(key).as_deref(), Some(&bytes[..]));
    }
    a.set("least", i64::MIN);
    assert_eq!(b.get("least"), Some(i64::MIN));
    let (key, name) = ("k\0\r\n\u{e4}", "with\0nul");
    a.tagged(key, 5, &[name]);
    assert_eq!(b.get(key), Some(5));
    b.delete_tag(name);
    a.comes(key, None);
}

#[test]
fn conditions_are_those_of_redis() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    assert!(a.add("k", 1) && !b.add("k", 2) && !a.add("k", 3));
    assert!(b.swap("k", 1, 5) && !a.swap("k", 1, 6));
    assert_eq!((a.get("k"), b.get("k")), (Some(5), Some(5)));
    assert!(a.swap("k", 5, 7));
    b.comes("k", Some(7));
}

#[test]
fn counters_are_exact_and_whole() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    assert_eq!(a.increment("n", 5), Ok(5));
    assert_eq!(b.increment("n", -2), Ok(3));
    assert_eq!(b.get("n"), Some(3));
    a.comes("n", Some(3));
    a.set("high", i64::MAX);
    assert_eq!(b.increment("high", 1), Err(Refused::Overflow));
    assert!(a.write(&Write {
        encoding: Encoding::Plain,
        bytes: b"\x00",
        ..int("text", 0)
    }));
    assert_eq!(b.increment("text", 1), Err(Refused::NotInt));
    std::thread::scope(|scope| {
        for server in [&first, &second] {
            for _ in 0..2 {
                scope.spawn(|| {
                    let worker = server.worker();
                    for _ in 0..500 {
                        worker.increment("sum", 1).unwrap();
                    }
                });
            }
        }
    });
    a.comes("sum", Some(2000));
    b.comes("sum", Some(2000));
}

#[test]
fn values_end_when_their_time_is_over() {
    let (redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let begin = Instant::now();
    assert!(a.write(&Write {
        ttl: 400_000,
        ..int("k", 1)
    }));
    if b.get("k").is_none() {
        assert!(begin.elapsed() > Duration::from_millis(390));
    }
    a.comes("k", None);
    b.comes("k", None);
    assert!(begin.elapsed() >= Duration::from_millis(390));
    until("it has left Redis", || {
        redis.cli(&["KEYS", "test:v:*"]).is_empty()
    });
    let wish = Write {
        ttl: 60_000_000,
        fresh: 20_000_000,
        ..int("stale", 1)
    };
    assert!(a.write(&wish));
    let found = b.tiered().read(b"stale", &mut Vec::new()).unwrap().unwrap();
    let left = |at: u64| (at - second.cache.now()) / 1_000_000;
    assert!((58..=60).contains(&left(found.expires)) && (18..=20).contains(&left(found.stale)));
}

#[test]
fn a_tag_ends_its_values_everywhere_and_no_others() {
    let (redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    a.tagged("x", 1, &["one"]);
    a.tagged("y", 2, &["one", "two"]);
    a.tagged("z", 3, &["two"]);
    assert_eq!(
        (b.get("x"), b.get("y"), b.get("z")),
        (Some(1), Some(2), Some(3))
    );
    assert!(b.delete_tag("one"));
    assert_eq!((b.get("x"), b.get("y"), b.get("z")), (None, None, Some(3)));
    a.comes("x", None);
    a.comes("y", None);
    assert_eq!(a.get("z"), Some(3));
    a.tagged("x", 4, &["one"]);
    // The tag begins again.
    b.comes("x", Some(4));
    a.tiered().clear().unwrap();
    assert_eq!((a.get("x"), a.get("z")), (None, None));
    b.comes("x", None);
    b.comes("z", None);
    // What is dead leaves Redis when it is read.
    until("dead entries leave", || {
        redis.cli(&["KEYS", "test:v:[xz]"]).is_empty()
    });
    // A counter is ended like any value.
    a.increment("n", 3).unwrap();
    b.tiered().clear().unwrap();
    assert_eq!(b.increment("n", 1), Ok(1));
}
