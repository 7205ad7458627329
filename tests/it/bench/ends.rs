//! How a run ends that does not go to its end: what was measured is kept, and nothing is left behind.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Bench, left_behind, processes_of};

const LONG: &[&str] = &[
    "basic_class_load_multiple",
    "--against",
    "hearth,apache",
    "--rounds",
    "20",
    "--seconds",
    "0.5",
    "--connections",
    "8",
    "--json",
    "result.json",
];

/// Waits until a process of the run has `part` in its command line, and returns its number.
fn until_runs(bench: &Bench, part: &str) -> u32 {
    let directory = bench.path().display().to_string();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(line) = processes_of(&directory, part).first() {
            return line
                .split(' ')
                .next()
                .and_then(|pid| pid.parse().ok())
                .expect("a number");
        }
        assert!(
            Instant::now() < until,
            "no process with {part:?} in its command line"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start(bench: &mut Bench) -> Child {
    bench.command.spawn().expect("hearth starts")
}

/// A load on the server whose program is `server`.
fn until_measured(bench: &Bench, server: &str) -> u32 {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let pid = until_runs(bench, server);
        until_runs(bench, " load ");
        if processes_of(&bench.path().display().to_string(), server)
            .first()
            .is_some_and(|line| line.starts_with(&pid.to_string()))
        {
            return pid;
        }
        assert!(Instant::now() < until, "{server} is never measured");
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let mut bench = Bench::new(LONG);
    let child = start(&mut bench);
    // A measurement is whole when the other server follows.
    for server in ["apache2", " serve ", "apache2"] {
        until_measured(&bench, server);
    }
    testkit::kill(child.id(), Signal::INT);
    let output = child.wait_with_output().expect("an end");
    let done = bench.done(output);
    assert_eq!(done.code, Some(1), "{}{}", done.out, done.err);
    assert!(done.err.contains("interrupted"), "{}", done.err);
    assert_eq!(done.result["stopped_by"], "interrupt");
    let repeats: usize = done
        .cells()
        .iter()
        .filter_map(|cell| cell["repeats"].as_array())
        .map(Vec::len)
        .sum();
    assert!((1..40).contains(&repeats), "{repeats}");
    assert!(
        done.out.contains("Hearth, resident"),
        "what was measured is printed: {}",
        done.out
    );
    let unfinished = done.of("apache")[0]["status"].to_string();
    assert!(unfinished.contains("interrupted after"), "{unfinished}");
}

#[test]
fn a_server_that_is_killed_fails_alone() {
    let mut bench = Bench::new(&[
        "basic",
        "--against",
        "hearth,fpm",
        "--rounds",
        "2",
        "--seconds",
        "1",
        "--connections",
        "8",
        "--json",
        "result.json",
    ]);
    let child = start(&mut bench);
    let master = until_measured(&bench, "nginx.conf");
    testkit::kill(master, Signal::KILL);
    let output = child.wait_with_output().expect("an end");
    let done = bench.done(output);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.measured(&["hearth"]);
    let status = &done.of("fpm")[0]["status"];
    assert_eq!(status["is"], "failed", "{status}");
    assert!(
        status["why"]
            .as_str()
            .is_some_and(|why| why.contains("nginx ended (signal: 9")),
        "{status}"
    );
}

#[test]
fn a_run_that_is_killed_leaves_nothing_either() {
    let mut bench = Bench::new(LONG);
    let mut child = start(&mut bench);
    until_measured(&bench, "apache2");
    testkit::kill(child.id(), Signal::KILL);
    child.wait().expect("an end");
    let left = left_behind(bench.path());
    assert!(left.is_empty(), "{left:?}");
}
