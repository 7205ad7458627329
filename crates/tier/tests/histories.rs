//! What is promised of two servers that share a Redis, over thousands of interleavings:
//!
//! - what changes a key is done in one order over all servers, each between its call and its return;
//! - what a server wrote, it reads from then on, or something newer;
//! - no server reads something older than it has read before;
//! - when nothing is written any more, all servers soon read what Redis has.
#![forbid(unsafe_code)]

mod support;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use support::{Server, Worker, until};
use testkit::service::Redis;

/// Rounds of each test; `TIER_ROUNDS` has more.
fn rounds(usual: i64) -> i64 {
    let given = std::env::var("TIER_ROUNDS").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(usual)
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn a_counter_never_goes_back_and_each_number_is_given_once() {
    let redis = Redis::start();
    let servers = [Server::of(&redis), Server::of(&redis)];
    let each = rounds(400);
    let given = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for server in &servers {
            // The highest number that this server has returned to any caller.
            let seen: &AtomicI64 = Box::leak(Box::new(AtomicI64::new(0)));
            for thread in 0..3 {
                let given = &given;
                scope.spawn(move || {
                    let worker = server.worker();
                    for _ in 0..each {
                        let before = seen.load(Ordering::SeqCst);
                        let now = if thread == 0 {
                            let now = worker.increment("n", 1).unwrap();
                            given.lock().unwrap().push(now);
                            now
                        } else {
                            worker.get("n").unwrap_or(0)
                        };
                        assert!(now >= before, "{now} was read after {before}");
                        seen.fetch_max(now, Ordering::SeqCst);
                    }
                });
            }
        }
    });
    let mut given = given.into_inner().unwrap();
    given.sort_unstable();
    assert_eq!(given, (1..=2 * each).collect::<Vec<_>>());
}

fn step(worker: &Worker, random: &mut Random, number: i64) {
    match random.below(10) {
        0..=2 => {
            worker.set("k", number);
            // Its own, or a newer one: not none, unless something else deleted it.
            worker.get("k");
        }
        3 => {
            let _ = worker.increment("k", 1);
        }
        4 => {
            worker.delete("k");
        }
        5 => {
            worker.delete_tag("tag");
        }
        6 => worker.tagged("k", number, &["tag"]),
        7 => {
            let before = worker.get("k").unwrap_or(0);
            worker.swap("k", before, number);
        }
        _ => {
            worker.get("k");
        }
    }
}

fn in_redis(redis: &Redis) -> Option<i64> {
    redis.cli(&["HGET", "test:v:k", "v"]).parse().ok()
}

/// Each round: a few operations at once on one key, and then both servers agree with Redis.
#[test]
fn nothing_old_stays() {
    let redis = Redis::start();
    let servers = [Server::of(&redis), Server::of(&redis)];
    let count = rounds(500);
    let barrier = Barrier::new(5);
    std::thread::scope(|scope| {
        for (index, server) in [0, 1, 0, 1].into_iter().enumerate() {
            let (barrier, server) = (&barrier, &servers[server]);
            scope.spawn(move || {
                let worker = server.worker();
                let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (index as u64 + 1) << 20);
                for round in 0..count {
                    barrier.wait();
                    for n in 0..4 {
                        step(&worker, &mut random, round * 100 + index as i64 * 10 + n);
                    }
                    barrier.wait();
                }
            });
        }
        let [a, b] = [servers[0].worker(), servers[1].worker()];
        for round in 0..count {
            barrier.wait();
            barrier.wait();
            let begin = Instant::now();
            loop {
                // A dead entry leaves Redis when it is read, so it is read first.
                let read = (a.get("k"), b.get("k"));
                let right = in_redis(&redis);
                if read == (right, right) {
                    break;
                }
                assert!(
                    begin.elapsed() < Duration::from_secs(10),
                    "round {round}: {read:?}, and Redis has {right:?}"
                );
            }
        }
    });
}

/// What a server wrote it reads, while another writes other values: what is read is the own one or one of the other's later ones.
#[test]
fn a_server_reads_what_it_wrote() {
    let redis = Redis::start();
    let servers = [Server::of(&redis), Server::of(&redis)];
    let count = rounds(1500);
    let done = AtomicI64::new(0);
    std::thread::scope(|scope| {
        for (sign, server) in [(1, &servers[0]), (-1, &servers[1])] {
            let done = &done;
            scope.spawn(move || {
                let worker = server.worker();
                let mut others = 0;
                for n in 1..=count {
                    worker.set("k", sign * n);
                    let read = worker.get("k").expect("nothing deletes it");
                    if read != sign * n {
                        let other = -sign * read;
                        assert!(
                            other >= others.max(1),
                            "{read} after {} and {others}",
                            sign * n
                        );
                        others = other;
                    }
                }
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    let [a, b] = [servers[0].worker(), servers[1].worker()];
    until("both have the last one", || {
        let right = in_redis(&redis);
        a.get("k") == right && b.get("k") == right && right.is_some_and(|last| last.abs() == count)
    });
}
