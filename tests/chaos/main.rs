//! Random handlers from a seed: PHP code that waits, throws, exits and breaks, nested, with clients that leave.
//!
//! `CHAOS_SEED=7 CHAOS_REQUESTS=800 cargo test -p it --test chaos` repeats a run, `CHAOS_SEEDS=20` makes 20 of them.
//! `CHAOS_ONLY=fiber,buffer` makes handlers of some kinds of pieces, `CHAOS_HANDLER=17` sends requests to one handler only,
//! `CHAOS_SHRINK=1` makes a failing run as small as it can, and `CHAOS_KEEP=DIRECTORY` keeps the last
//! run's app, log and core files. `CHAOS_UNDER='valgrind --trace-children=yes …'` starts the server under another program.
#![forbid(unsafe_code)]

mod kinds;
mod piece;
mod random;
mod run;
mod shrink;
mod traffic;

use run::{Plan, setting};

/// The seeds of every run of the tests, and the requests of each: they include one with either dispatch, and one that
/// breaks no worker.
const SEEDS: [u64; 3] = [1, 3, 4];
const REQUESTS: u64 = 200;

/// Returns `CHAOS_SEEDS` seeds from `CHAOS_SEED` on, or the usual ones.
fn seeds() -> Vec<u64> {
    let (first, count) = (setting("CHAOS_SEED"), setting("CHAOS_SEEDS"));
    if first.is_none() && count.is_none() {
        return SEEDS.to_vec();
    }
    let first = first.unwrap_or(1);
    (first..first + count.unwrap_or(1)).collect()
}

/// Asserts what every seed must show: no worker died, the watchdog ended none, no alert, a response to each client that
/// waited, no data of one request in another, and memory that does not grow.
#[test]
fn random_handlers_leave_their_workers_and_each_other_alone() {
    let requests = setting("CHAOS_REQUESTS").unwrap_or(REQUESTS);
    let mut failed = Vec::new();
    for seed in seeds() {
        let plan = Plan::new(seed, requests);
        let found = run::run(&plan);
        if found.is_empty() {
            eprintln!("CHAOS_SEED={seed} CHAOS_REQUESTS={requests}: nothing found");
            continue;
        }
        eprintln!("CHAOS_SEED={seed} CHAOS_REQUESTS={requests}: {found:#?}");
        if setting("CHAOS_SHRINK").is_some() {
            shrink::shrink(plan, &found);
        }
        failed.push(seed);
    }
    assert!(
        failed.is_empty(),
        "seeds that found something: {failed:?}; see above"
    );
}
