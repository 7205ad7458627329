//! Copies, tags, numbers, locks and computations, in many orders of the accesses to the shared words.
//!
//! shuttle runs the threads of a model one at a time and chooses after each access which one continues.

use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::thread;

use crate::geometry::Geometry;
use crate::memory::Memory;
use crate::words::Mapping;
use crate::{Cache, Claim, Condition, Owner, Space, Stored, Write};

/// The number of schedules per model: as many random ones, and as many with a few preemptions at chosen places (PCT).
const SCHEDULES: usize = 400;
const PREEMPTIONS: usize = 3;
const LONG: u64 = 1_000_000;

/// Makes a cache of 16 cells.
fn cache() -> Arc<Cache> {
    let geometry = Geometry::of_cells(16);
    let memory = Memory::of(Mapping::new(geometry.words()), geometry);
    memory.recover();
    Arc::new(Cache {
        memory,
        clock: || 1,
    })
}

fn explore(model: impl Fn(Arc<Cache>) + Send + Sync + 'static) {
    let model = Arc::new(model);
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let mut config = shuttle::Config::new();
        config.silence_warnings = true;
        let model = Arc::clone(&model);
        shuttle::Runner::new(scheduler, config).run(move || model(cache()));
    };
    run(Box::new(RandomScheduler::new(SCHEDULES)));
    run(Box::new(PctScheduler::new(PREEMPTIONS, SCHEDULES)));
}

/// Runs `work` in two threads, and waits for both.
fn twice(cache: &Arc<Cache>, work: impl Fn(&Cache) + Send + Sync + 'static) {
    let work = Arc::new(work);
    let threads = [(); 2].map(|()| {
        let (cache, work) = (Arc::clone(cache), Arc::clone(&work));
        thread::spawn(move || work(&cache))
    });
    for thread in threads {
        thread.join().expect("no panic");
    }
}

#[test]
fn no_copy_outlives_a_newer_value() {
    explore(|cache| {
        assert_eq!(cache.write(&Write::int(b"k", 1)), Ok(Stored::Yes));
        let written = Arc::new(AtomicU64::new(1));
        let writer = thread::spawn({
            let (cache, written) = (Arc::clone(&cache), Arc::clone(&written));
            move || {
                for number in 2..4 {
                    assert_eq!(cache.write(&Write::int(b"k", number)), Ok(Stored::Yes));
                    written.store(number.unsigned_abs(), SeqCst);
                }
            }
        });
        for _ in 0..2 {
            let found = cache.read(b"k", &mut Vec::new());
            let found = found.expect("not stuck").expect("it is always there");
            let least = written.load(SeqCst);
            if cache.is_current(&found.validators, 0) {
                assert!(found.int.unsigned_abs() >= least, "{found:?} after {least}");
            }
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn no_copy_outlives_its_end() {
    let ends: [fn(&Cache); 3] = [
        |cache| assert!(cache.delete(b"k").is_ok()),
        |cache| assert!(cache.delete_tag(b"t").is_ok()),
        |cache| assert!(cache.clear().is_ok()),
    ];
    for end in ends {
        explore(move |cache| {
            let write = Write {
                tags: &[b"t"],
                ..Write::plain(b"k", b"value")
            };
            assert_eq!(cache.write(&write), Ok(Stored::Yes));
            let ended = Arc::new(AtomicU64::new(0));
            let ending = thread::spawn({
                let (cache, ended) = (Arc::clone(&cache), Arc::clone(&ended));
                move || {
                    end(&cache);
                    ended.store(1, SeqCst);
                }
            });
            let mut bytes = Vec::new();
            if let Some(found) = cache.read(b"k", &mut bytes).expect("not stuck") {
                assert_eq!(bytes, b"value");
                let is_over = ended.load(SeqCst) == 1;
                assert!(!(is_over && cache.is_current(&found.validators, 0)));
            }
            ending.join().expect("no panic");
            assert_eq!(cache.read(b"k", &mut bytes), Ok(None));
        });
    }
}

#[test]
fn no_increment_is_lost() {
    explore(|cache| {
        twice(&cache, |cache| {
            for _ in 0..2 {
                cache.increment(1, &Write::int(b"n", 0)).expect("done");
            }
        });
        assert_eq!(cache.increment(0, &Write::int(b"n", 0)), Ok(4));
    });
}

#[test]
fn a_lock_has_one_holder() {
    explore(|cache| {
        let holders = AtomicU64::new(0);
        twice(&cache, move |cache| {
            let owner = Owner::named(b"owner");
            for _ in 0..2 {
                let claim = cache.claim(Space::Lock, b"l", owner, LONG);
                if let Claim::Taken(token) = claim.expect("done") {
                    assert_eq!(holders.fetch_add(1, SeqCst), 0, "another has it");
                    assert_eq!(holders.fetch_sub(1, SeqCst), 1);
                    assert_eq!(cache.give_back(Space::Lock, b"l", token), Ok(true));
                }
            }
        });
    });
}

#[test]
fn a_deletion_during_a_computation_is_not_undone() {
    explore(|cache| {
        let claim = cache.claim(Space::Computation, b"k", Owner::named(b"owner"), LONG);
        let Ok(Claim::Taken(token)) = claim else {
            panic!("{claim:?}")
        };
        let deletes = thread::spawn({
            let cache = Arc::clone(&cache);
            move || assert!(cache.delete(b"k").is_ok())
        });
        let write = Write {
            condition: Condition::Claimed(token),
            ..Write::int(b"k", 1)
        };
        cache.write(&write).expect("done");
        deletes.join().expect("no panic");
        assert_eq!(cache.read(b"k", &mut Vec::new()), Ok(None));
    });
}
