//! Several keys at once are one round trip, and keys that do not exist are requested once.
#![forbid(unsafe_code)]

mod support;

use cache::{Condition, Encoding, Refused, Stored, Write};
use support::{Server, Worker, int, until};
use testkit::service::Redis;

fn two() -> (Redis, Server, Server) {
    let redis = Redis::start();
    let (first, second) = (Server::of(&redis), Server::of(&redis));
    (redis, first, second)
}

/// How many calls Redis got: scripts that were not part of a transaction, and transactions.
fn calls_of(redis: &Redis, operations: impl FnOnce()) -> (u64, u64) {
    redis.cli(&["CONFIG", "RESETSTAT"]);
    operations();
    let text = redis.cli(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    };
    (calls("evalsha"), calls("exec"))
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("key {n}")).collect()
}

fn read(worker: &Worker, keys: &[String]) -> Vec<Option<i64>> {
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let found = worker.tiered().read_many(&keys, &mut Vec::new()).unwrap();
    found
        .into_iter()
        .map(|found| found.map(|(found, _)| found.int))
        .collect()
}

fn write(worker: &Worker, keys: &[String], tags: &[&[u8]]) -> Vec<Result<Stored, Refused>> {
    let writes: Vec<_> = (1..)
        .zip(keys)
        .map(|(n, key)| Write {
            tags,
            ..int(key, n)
        })
        .collect();
    worker.tiered().write_many(&writes)
}

fn delete(worker: &Worker, keys: &[String]) -> usize {
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let deleted = worker.tiered().delete_many(&keys).unwrap();
    deleted.into_iter().filter(|was_there| *was_there).count()
}

fn numbers(count: i64) -> Vec<Option<i64>> {
    (1..=count).map(Some).collect()
}

#[test]
fn a_batch_is_one_round_trip() {
    let (redis, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    let keys = keys(100);
    let written = calls_of(&redis, || {
        assert_eq!(write(&a, &keys, &[b"x", b"y"]), vec![Ok(Stored::Yes); 100]);
    });
    assert_eq!(written.1, 1, "one transaction with all of it");
    assert_eq!(
        calls_of(&redis, || assert_eq!(read(&a, &keys), numbers(100))),
        (0, 0),
        "its own copies"
    );
    assert_eq!(
        calls_of(&redis, || assert_eq!(read(&b, &keys), numbers(100))),
        (1, 0)
    );
    assert_eq!(
        calls_of(&redis, || assert_eq!(read(&b, &keys), numbers(100))),
        (0, 0)
    );
    // Some are here, some are not, some are nowhere.
    b.set("key 7", 70);
    a.comes("key 7", Some(70));
    b.delete_tag("x");
    let none = vec![None; 100];
    let mut expected = none.clone();
    expected[7] = Some(70);
    until("the tag is gone there", || read(&a, &keys) == expected);
    assert_eq!(
        calls_of(&redis, || assert_eq!(delete(&a, &keys), 1)),
        (1, 0)
    );
    until("they are gone there", || read(&b, &keys) == none);
}

/// Of values with conditions too, and of tags.
#[test]
fn what_is_there_is_not_added_and_tags_end_together() {
    let (redis, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    a.set("key 1", 10);
    b.comes("key 1", Some(10));
    let keys = keys(3);
    let add = || {
        let writes: Vec<_> = keys
            .iter()
            .map(|key| Write {
                condition: Condition::Absent,
                tags: &[b"x"],
                ..int(key, 7)
            })
            .collect();
        let expected = [Stored::Yes, Stored::No, Stored::Yes].map(Ok);
        assert_eq!(b.tiered().write_many(&writes), expected);
    };
    assert_eq!(calls_of(&redis, add).1, 1);
    assert_eq!(read(&b, &keys), [Some(7), Some(10), Some(7)]);
    a.comes("key 2", Some(7));
    let tags: [&[u8]; 3] = [b"x", b"none", b"y"];
    let calls = |command: &str| {
        let text = redis.cli(&["INFO", "commandstats"]);
        text.matches(&format!("cmdstat_{command}:calls=1,")).count()
    };
    redis.cli(&["CONFIG", "RESETSTAT"]);
    assert_eq!(a.tiered().delete_tags(&tags), Ok(1));
    assert_eq!(calls("unlink"), 1);
    let left = [None, Some(10), None];
    assert_eq!(read(&a, &keys), left);
    until("the tag is gone there", || read(&b, &keys) == left);
    let deleted = a.tiered().delete_many(&[b"key 0", b"key 1", b"key 1"]);
    assert_eq!(deleted, Ok(vec![false, true, false]));
}

#[test]
fn many_keys_are_some_round_trips() {
    let (redis, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    let keys = keys(1500);
    assert_eq!(
        calls_of(&redis, || assert_eq!(write(&a, &keys, &[]).len(), 1500)).1,
        3
    );
    assert_eq!(
        calls_of(&redis, || assert_eq!(read(&b, &keys), numbers(1500))),
        (3, 0)
    );
    assert_eq!(
        calls_of(&redis, || assert_eq!(delete(&b, &keys), 1500)),
        (3, 0)
    );
}

#[test]
fn values_of_all_sizes_come_in_a_batch() {
    let redis = Redis::start();
    let first = Server::of(&redis);
    // Smaller than what is read at once.
    let second = Server::with(
        support::options(format!("redis://127.0.0.1:{}", redis.port)),
        256 * 1024,
    );
    second.until_there();
    let (a, b) = (first.worker(), second.worker());
    let names = keys(60);
    let values: Vec<Vec<u8>> = (0..60).map(|n| vec![n as u8; n * 400]).collect();
    let writes: Vec<_> = names
        .iter()
        .zip(&values)
        .map(|(key, bytes)| Write {
            encoding: Encoding::Plain,
            bytes,
            ..int(key, 0)
        })
        .collect();
    assert_eq!(a.tiered().write_many(&writes), vec![Ok(Stored::Yes); 60]);
    let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    for worker in [&a, &b] {
        let mut bytes = Vec::new();
        let found = worker.tiered().read_many(&keys, &mut bytes).unwrap();
        for (value, found) in values.iter().zip(found) {
            let (_, range) = found.expect("it is there");
            assert_eq!(&bytes[range], &value[..]);
        }
    }
}

#[test]
fn one_that_cannot_be_written_is_no_reason_to_lose_the_others() {
    let (redis, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    let huge = vec![0; 1 << 20];
    let large = Write {
        encoding: Encoding::Plain,
        bytes: &huge,
        ..int("large", 0)
    };
    let done = a
        .tiered()
        .write_many(&[int("before", 1), large, int("after", 2)]);
    assert!(matches!(done[1], Err(Refused::TooLarge { .. })), "{done:?}");
    assert_eq!((b.get("before"), b.get("after")), (Some(1), Some(2)));
    // One that this program did not write is none, beside others.
    redis.cli(&["SET", "test:v:foreign", "x"]);
    let names = ["before", "foreign", "after"].map(str::to_owned);
    b.delete("before");
    a.comes("before", None);
    b.set("before", 3);
    until("it has changed there", || {
        read(&a, &names) == [Some(3), None, Some(2)]
    });
    assert_eq!(delete(&a, &names), 3);
    redis.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(write(&a, &names, &[b"t"]), vec![Ok(Stored::Yes); 3]);
    redis.cli(&["SCRIPT", "FLUSH"]);
    until("all are there", || read(&b, &names) == numbers(3));
}

#[test]
fn a_batch_while_redis_is_away() {
    let mut redis = Redis::start();
    let (first, second) = (Server::of(&redis), Server::of(&redis));
    let (a, b) = (first.worker(), second.worker());
    let keys = keys(20);
    write(&a, &keys, &[]);
    assert_eq!(read(&b, &keys), numbers(20));
    redis.kill();
    first.until_away();
    assert_eq!(write(&a, &keys[..10], &[]), vec![Ok(Stored::Yes); 10]);
    assert_eq!(delete(&a, &keys[10..]), 10);
    assert_eq!(first.tier.status().pending_deletes, 20);
    assert_eq!(read(&a, &keys[..11])[9..], [Some(10), None]);
    redis.revive();
    first.until_there();
    second.until_there();
    assert_eq!(
        (read(&a, &keys), read(&b, &keys)),
        (vec![None; 20], vec![None; 20])
    );
}

#[test]
fn a_key_that_does_not_exist_is_asked_for_once() {
    let (redis, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    let many = |worker: &Worker| (0..50).for_each(|_| assert_eq!(worker.get("none"), None));
    assert_eq!(calls_of(&redis, || many(&a)), (1, 0));
    assert_eq!(calls_of(&redis, || many(&a)), (0, 0));
    let names = keys(40);
    assert_eq!(
        calls_of(&redis, || assert_eq!(read(&a, &names), vec![None; 40])),
        (1, 0)
    );
    assert_eq!(
        calls_of(&redis, || assert_eq!(read(&a, &names), vec![None; 40])),
        (0, 0)
    );
    // Until it is written: by another machine,
    for round in 1..50 {
        b.set("none", round);
        a.comes("none", Some(round));
        b.delete("none");
        a.comes("none", None);
    }
    b.add("none", 1);
    a.comes("none", Some(1));
    // and this one.
    for write in [
        |worker: &Worker, key: &str| worker.set(key, 1),
        |worker: &Worker, key: &str| assert!(worker.add(key, 1)),
        |worker: &Worker, key: &str| assert_eq!(worker.increment(key, 1), Ok(1)),
        |worker: &Worker, key: &str| worker.tagged(key, 1, &["t"]),
    ] {
        assert_eq!(a.get("own"), None);
        write(&a, "own");
        assert_eq!(a.get("own"), Some(1));
        assert!(a.delete("own"));
        assert_eq!(a.get("own"), None);
    }
    // What was known before Redis went away is not any more.
    let many =
        |worker: &Worker| assert_eq!((worker.get("other"), worker.get("other")), (None, None));
    many(&a);
    redis.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    until("it was cut", || first.tier.status().disconnects > 0);
    first.until_there();
    assert_eq!(calls_of(&redis, || many(&a)).0, 1);
    redis.cli(&["FLUSHALL"]);
    a.comes("none", None);
    b.set("none", 5);
    a.comes("none", Some(5));
}

/// Of all that come at once, of two machines: after a write has returned no read of the same machine misses it.
#[test]
fn an_absence_is_never_older_than_a_write() {
    let (_redis, first, second) = two();
    std::thread::scope(|scope| {
        for server in [&first, &second] {
            for thread in 0..3 {
                scope.spawn(move || {
                    let worker = server.worker();
                    for round in 0..300 {
                        let key = format!("k{}", (round + thread) % 5);
                        let own = format!("{:p} {thread} {round}", server.cache);
                        let _ = worker.get(&key);
                        assert_eq!(worker.get(&own), None);
                        worker.set(&own, round);
                        assert_eq!(worker.get(&own), Some(round));
                        worker.set(&key, round);
                        worker.delete(&key);
                        worker.delete(&own);
                        assert_eq!(worker.get(&own), None);
                    }
                });
            }
        }
    });
}

#[test]
fn many_keys_that_do_not_exist_push_out_nothing_that_is_read() {
    let (_redis, first, _second) = two();
    let a = first.worker();
    let hot = keys(200);
    write(&a, &hot, &[]);
    for _ in 0..3 {
        read(&a, &hot);
    }
    let reads = first.tier.status().reads;
    (0..20_000).for_each(|n| assert_eq!(a.get(&format!("none {n}")), None));
    assert_eq!(first.tier.status().reads, reads + 20_000);
    assert_eq!(read(&a, &hot), numbers(200));
    assert_eq!(
        first.tier.status().reads,
        reads + 20_000,
        "they are still here"
    );
}
