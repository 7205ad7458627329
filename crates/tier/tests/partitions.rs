//! A network that drops packets: no connection ends, and nothing arrives.
#![forbid(unsafe_code)]

mod support;

use std::time::{Duration, Instant};

use support::relay::Relay;
use support::{Server, Worker, until};
use testkit::service::Redis;

/// The first is cut off by the relay, the second is not.
fn two() -> (Redis, Relay, Server, Server) {
    let redis = Redis::start();
    let relay = Relay::to(redis.port);
    let first = Server::at(&format!("redis://127.0.0.1:{}", relay.port));
    first.until_there();
    let second = Server::of(&redis);
    (redis, relay, first, second)
}

fn fill(a: &Worker, b: &Worker) {
    for key in ["copied", "deleted", "mine", "both"] {
        a.set(key, 1);
        assert_eq!(b.get(key), Some(1));
    }
    a.increment("n", 10).unwrap();
    a.tagged("tagged", 1, &["tag"]);
    assert_eq!((b.get("tagged"), a.get("absent")), (Some(1), None));
}

/// What each does while they are apart.
fn change(a: &Worker, b: &Worker) {
    a.set("mine", 2);
    a.set("both", 2);
    a.delete("deleted");
    a.delete_tag("tag");
    assert_eq!(a.increment("n", 1), Ok(11));
    for (key, number) in [("copied", 3), ("both", 3), ("absent", 3)] {
        b.set(key, number);
    }
    assert_eq!((a.get("mine"), a.get("n")), (Some(2), Some(11)));
    assert_eq!((b.get("mine"), b.get("n")), (Some(1), Some(10)));
}

/// Nothing that was before is read by any of them.
fn check(a: &Worker, b: &Worker) {
    for worker in [a, b] {
        for key in ["mine", "deleted", "tagged", "both"] {
            worker.comes(key, None);
        }
        worker.comes("copied", Some(3));
        worker.comes("absent", Some(3));
        worker.comes("n", Some(11));
    }
    a.set("both", 4);
    b.comes("both", Some(4));
    b.set("both", 5);
    a.comes("both", Some(5));
}

fn apart(end: fn(&Relay)) {
    let (_redis, relay, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    fill(&a, &b);
    let begin = Instant::now();
    relay.stop();
    // No operation has to be under way: the server asks by itself.
    first.until_away();
    let noticed = begin.elapsed();
    assert!(noticed < Duration::from_millis(2500), "{noticed:?}");
    change(&a, &b);
    assert!(second.tier.status().is_there);
    end(&relay);
    first.until_there();
    check(&a, &b);
}

#[test]
fn packets_that_are_dropped_and_come_later() {
    apart(Relay::resume);
}

#[test]
fn packets_that_are_dropped_until_the_connection_ends() {
    apart(Relay::close);
}

/// The write that was under way is not done after those that came later, though its packets still arrive.
#[test]
fn a_write_that_was_under_way() {
    for end in [Relay::resume, Relay::close] {
        let (_redis, relay, first, second) = two();
        let (a, b) = (first.worker(), second.worker());
        a.set("k", 1);
        assert_eq!(b.get("k"), Some(1));
        relay.stop();
        let begin = Instant::now();
        a.set("k", 2);
        let took = begin.elapsed();
        assert!(
            took < Duration::from_millis(900),
            "it takes the time limit: {took:?}"
        );
        b.set("k", 3);
        end(&relay);
        first.until_there();
        a.comes("k", None);
        b.comes("k", None);
        b.set("k", 4);
        a.comes("k", Some(4));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!((a.get("k"), b.get("k")), (Some(4), Some(4)));
    }
}

/// Shorter than the time limits: no connection is lost, and what others wrote arrives late.
#[test]
fn a_short_one_is_only_late() {
    let (_redis, relay, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    a.set("k", 1);
    assert_eq!(a.get("none"), None);
    relay.stop();
    b.set("k", 2);
    b.set("none", 2);
    assert_eq!((a.get("k"), a.get("none")), (Some(1), None), "not told yet");
    relay.resume();
    a.comes("k", Some(2));
    a.comes("none", Some(2));
    assert_eq!(first.tier.status().disconnects, 0);
}

/// Again and again, with writes at all times.
#[test]
fn many_of_them() {
    let (_redis, relay, first, second) = two();
    let (a, b) = (first.worker(), second.worker());
    for round in 1..6 {
        let disconnects = first.tier.status().disconnects;
        a.set("k", round);
        relay.stop();
        b.set("k", -round);
        b.set(&format!("new {round}"), round);
        a.set("k", round + 100);
        until("it is noticed", || {
            first.tier.status().disconnects > disconnects
        });
        if round % 2 == 0 {
            relay.close()
        } else {
            relay.resume()
        }
        first.until_there();
        a.comes("k", None);
        b.comes("k", None);
        a.comes(&format!("new {round}"), Some(round));
    }
}
