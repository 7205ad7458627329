//! Locks and computations that two servers claim of a real Redis.
#![forbid(unsafe_code)]

mod support;

use std::time::{Duration, Instant};

use cache::{Claim, Condition, Owner, Refused, Space, Write};
use support::{Server, Worker, int, two, until, workers};

fn claim(worker: &Worker) -> Result<Claim, Refused> {
    worker
        .tiered()
        .claim(Space::Computation, b"k", Owner::here(1), 60_000_000)
}

/// How long the second machine waits for what the first one computes.
fn waits_for(a: &Worker, b: Worker) -> (Worker, Duration) {
    let Ok(Claim::Taken(token)) = claim(a) else {
        panic!("it is free");
    };
    let waits = std::thread::spawn(move || {
        let begin = Instant::now();
        b.tiered().wait_for(b"k").unwrap();
        (b, begin.elapsed())
    });
    std::thread::sleep(Duration::from_millis(10));
    result(a, token);
    waits.join().unwrap()
}

/// The computation of `k` is over.
fn result(a: &Worker, token: u64) {
    assert!(a.write(&Write {
        condition: Condition::Claimed(token),
        ..int("k", 1)
    }));
    let given = a.tiered().give_back(Space::Computation, b"k", token);
    assert_eq!(given, Ok(true));
}

/// Without that it would wait for 100 ms each time. On a busy machine it may begin to wait too late.
#[test]
fn a_machine_that_waits_for_a_computation_is_woken() {
    let (_redis, first, second) = two();
    let (a, mut b) = workers(&first, &second);
    let mut times = Vec::new();
    while times.len() < 10 {
        let waited;
        (b, waited) = waits_for(&a, b);
        if waited < Duration::from_millis(90) {
            return;
        }
        times.push(waited);
        a.delete("k");
    }
    panic!("{times:?}");
}

#[test]
fn a_computation_is_one_machines_at_a_time() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let Ok(Claim::Taken(token)) = claim(&a) else {
        panic!("it is free");
    };
    let elsewhere = claim(&b);
    assert!(
        matches!(elsewhere, Ok(Claim::Held(by)) if by.process == 0),
        "{elsewhere:?}"
    );
    result(&a, token);
    assert_eq!(b.get("k"), Some(1));
    // A deletion elsewhere during the computation wins, and so does the end of everything.
    for end in [(|b: &Worker| assert!(b.delete("k"))) as fn(&Worker), |b| {
        b.tiered().clear().unwrap()
    }] {
        until("it is free", || matches!(claim(&a), Ok(Claim::Taken(_))));
        let token = a_token(&first);
        end(&b);
        let write = Write {
            condition: Condition::Claimed(token),
            ..int("k", 2)
        };
        assert!(!a.write(&write) || a.get("k").is_none());
        b.comes("k", None);
        let _ = a.tiered().give_back(Space::Computation, b"k", token);
    }
}

/// The others wait for the computation as long as it takes, and not for the end of a claim that nothing gives back.
#[test]
fn the_end_of_all_values_leaves_no_claim_of_a_computation() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    for (key, by) in [("k", &a), ("l", &b)] {
        let name = key.as_bytes();
        let claim = |worker: &Worker| {
            let ttl = 60_000_000;
            worker
                .tiered()
                .claim(Space::Computation, name, Owner::here(1), ttl)
        };
        let Ok(Claim::Taken(token)) = claim(&a) else {
            panic!("it is free");
        };
        a.set("other", 1);
        by.tiered().clear().unwrap();
        until("all has ended", || !a.has_here("other"));
        let result = Write {
            condition: Condition::Claimed(token),
            ..int(key, 2)
        };
        a.write(&result);
        assert_eq!(a.get(key), None);
        let _ = a.tiered().give_back(Space::Computation, name, token);
        let begin = Instant::now();
        until("it is free", || matches!(claim(&b), Ok(Claim::Taken(_))));
        assert!(begin.elapsed() < Duration::from_secs(1), "{key}");
    }
}

/// Claims the computation of the key, and returns the token.
#[track_caller]
fn claimed(worker: &Worker, key: &str) -> u64 {
    let owner = Owner::here(1);
    let claim = worker
        .tiered()
        .claim(Space::Computation, key.as_bytes(), owner, 60_000_000);
    match claim {
        Ok(Claim::Taken(token)) => token,
        other => panic!("{other:?}"),
    }
}

/// So does a value that is written elsewhere meanwhile.
#[test]
fn what_is_written_during_a_computation_stays() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let ways: [fn(&Worker, &str) -> bool; 2] = [
        |worker, key| {
            worker.set(key, 7);
            true
        },
        |worker, key| worker.increment(key, 7) == Ok(7),
    ];
    for (n, write) in ways.into_iter().enumerate() {
        for (m, by) in [&a, &b].into_iter().enumerate() {
            let key = format!("k {n} {m}");
            let token = claimed(&a, &key);
            assert!(write(by, &key));
            let result = Write {
                condition: Condition::Claimed(token),
                ..int(&key, 2)
            };
            assert!(!a.write(&result), "{key}");
            b.comes(&key, Some(7));
            a.comes(&key, Some(7));
            let _ = a
                .tiered()
                .give_back(Space::Computation, key.as_bytes(), token);
        }
    }
}

/// So it does if a tag of the computation has ended by then.
#[test]
fn what_is_written_after_a_tag_was_deleted_stays() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    for key in ["k", "l"] {
        let validators = a.tiered().tags(&[b"t"]).unwrap();
        let token = claimed(&a, key);
        b.delete_tag("t");
        until("the tag is gone", || {
            first.cache.versions(&validators).is_none()
        });
        if key == "k" {
            b.set(key, 7);
        }
        a.write(&Write {
            condition: Condition::Claimed(token),
            validators: &validators,
            ..int(key, 2)
        });
        let expected = (key == "k").then_some(7);
        assert_eq!(b.get(key), expected);
        a.comes(key, expected);
        let _ = a
            .tiered()
            .give_back(Space::Computation, key.as_bytes(), token);
    }
}

/// Of the computation that is under way.
fn a_token(server: &Server) -> u64 {
    let token = server.cache.token(Space::Computation, b"k", None);
    token.unwrap().expect("it is claimed")
}

#[test]
fn a_tag_deleted_during_a_computation_ends_its_value() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let validators = a.tiered().tags(&[b"t"]).unwrap();
    b.delete_tag("t");
    a.write(&Write {
        validators: &validators,
        ..int("k", 1)
    });
    a.comes("k", None);
    assert_eq!(b.get("k"), None);
    let validators = a.tiered().tags(&[b"t"]).unwrap();
    a.write(&Write {
        validators: &validators,
        ..int("k", 2)
    });
    assert_eq!(a.get("k"), Some(2));
    // It had asked, and remembers that there was none.
    b.comes("k", Some(2));
}

#[test]
fn the_computation_of_a_process_that_died_is_given_back() {
    let (_redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let owner = Owner {
        process: child.id(),
        task: 1,
        started: 0,
    };
    let claim = a
        .tiered()
        .claim(Space::Computation, b"k", owner, 60_000_000);
    assert!(matches!(claim, Ok(Claim::Taken(_))));
    child.kill().unwrap();
    child.wait().unwrap();
    let begin = Instant::now();
    until("another machine has it", || {
        let claim = b
            .tiered()
            .claim(Space::Computation, b"k", Owner::here(2), 60_000_000);
        matches!(claim, Ok(Claim::Taken(_)))
    });
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn a_lock_is_one_holders_over_machines_and_its_token_grows() {
    let (redis, first, second) = two();
    let (a, b) = workers(&first, &second);
    let owner = Owner::here(1);
    let lock = |worker: &Worker, owner, ttl| worker.tiered().claim(Space::Lock, b"l", owner, ttl);
    let Ok(Claim::Taken(token)) = lock(&a, owner, 60_000_000) else {
        panic!("it is free");
    };
    assert!(matches!(lock(&b, owner, 1000), Ok(Claim::Held(_))));
    assert_eq!(b.tiered().holds_claim(Space::Lock, b"l", token), Ok(true));
    assert_eq!(b.tiered().token(Space::Lock, b"l", None), Ok(Some(token)));
    assert_eq!(
        b.tiered().token(Space::Lock, b"l", Some(owner)),
        Ok(None),
        "another machine's task"
    );
    assert_eq!(
        b.tiered().give_back(Space::Lock, b"l", token + 1000),
        Ok(false)
    );
    assert_eq!(
        a.tiered().extend(Space::Lock, b"l", token, 100_000),
        Ok(true)
    );
    let mut next = 0;
    until("its time is over", || {
        match lock(&b, Owner::named(b"job"), 60_000_000) {
            Ok(Claim::Taken(token)) => {
                next = token;
                true
            }
            _ => false,
        }
    });
    assert!(next > token);
    assert_eq!(
        a.tiered().give_back(Space::Lock, b"l", token),
        Ok(false),
        "it is another's"
    );
    assert_eq!(
        a.tiered()
            .token(Space::Lock, b"l", Some(Owner::named(b"job"))),
        Ok(Some(next))
    );
    assert_eq!(a.tiered().give_back(Space::Lock, b"l", next), Ok(true));
    redis.cli(&["FLUSHALL"]);
    let Ok(Claim::Taken(last)) = lock(&a, owner, 1_000_000) else {
        panic!("it is free");
    };
    assert!(last > next, "also where Redis has lost everything");
}
