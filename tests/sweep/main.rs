//! Every function of PHP and of its extensions, called with arguments that run PHP code in the middle of the call, while another task changes what the call works on.
//!
//! `SWEEP_EVERY=1` makes all calls (otherwise each 20th), `SWEEP_CASES=REGEX` some of them, `SWEEP_ACTIONS=drop,empty` with some actions.
//! `SWEEP_UNDER='valgrind …'` starts the server under another program.
//! What is found is printed with the command that repeats it alone. `known` lists what PHP itself does.
#![forbid(unsafe_code)]

mod caller;
mod known;
mod sweep;

use std::thread;

use caller::{Call, Caller};
use known::Known;
use regex::Regex;
use sweep::Swept;

/// Which of the calls every run of the tests makes: as many as take some seconds.
const EVERY: usize = 20;
/// Servers that make calls at the same time, each with a part of them.
const SERVERS: usize = 2;

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the cases of this run.
fn cases() -> Vec<String> {
    let every = setting("SWEEP_EVERY").map_or(EVERY, |value| {
        value.parse().expect("SWEEP_EVERY is a number")
    });
    let pattern =
        setting("SWEEP_CASES").map(|value| Regex::new(&value).expect("a regular expression"));
    let all = Caller::new(None).cases();
    let Some(pattern) = pattern else {
        return all.into_iter().step_by(every).collect();
    };
    let cases: Vec<_> = all
        .into_iter()
        .filter(|case| pattern.is_match(case))
        .collect();
    assert!(
        !cases.is_empty(),
        "SWEEP_CASES={pattern}: no case matches; a case is a name, a parameter and a value, such as `usort 1 texts`"
    );
    cases
}

/// Asserts that no call ends its worker, none hangs, none reports an alert, and none gives another result because it waited.
#[test]
fn what_a_call_works_on_stays_whole_while_it_waits() {
    let cases = cases();
    let actions = sweep::actions();
    let known = Known::read();
    let parts: Vec<Vec<String>> = (0..SERVERS)
        .map(|part| cases.iter().skip(part).step_by(SERVERS).cloned().collect())
        .collect();
    let swept = thread::scope(|scope| {
        let threads: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(|| sweep::sweep(part, &known, &actions)))
            .collect();
        let parts = threads
            .into_iter()
            .map(|thread| thread.join().expect("a part ends"));
        parts.fold(Swept::default(), Swept::and)
    });
    swept.report(cases.len());
    assert!(
        swept.found.is_empty(),
        "{} findings; see above",
        swept.found.len()
    );
}

/// What the sweep would miss if it did not see a wait in the middle of a call.
#[test]
fn a_call_that_waits_is_seen_to_be_left() {
    let mut caller = Caller::new(None);
    for (case, left) in [
        ("array_map 1 callable", true),
        ("serialize 1 magic", false),
        ("operator:serialize 1 magic", false),
        ("ArrayIterator::uasort 1 callable", true),
    ] {
        let answer = caller.ask(&Call::probe(case)).expect("an answer");
        assert_ne!(answer["calls"], 0, "{case}");
        assert_eq!(
            !answer["left"].as_array().expect("a list").is_empty(),
            left,
            "{case}"
        );
    }
    caller.stop();
}
