//! Reported latencies against the server's own record.

use crate::tool::{has_verdict, one_of_three, run};
use crate::truth::Truth;
use std::time::Duration;

/// The server's percentile, in microseconds.
fn truth_percentile(took: &[Duration], percent: f64) -> f64 {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let rank = (percent / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1].as_secs_f64() * 1e6
}

fn micros(run: &measure::Run, percent: f64) -> f64 {
    run.latency.service.percentile(percent) as f64 / 1e3
}

/// What is wrong with one run's percentiles, if anything.
fn disagreement() -> Option<String> {
    let server = Truth::start();
    let result = run(&["-c", "8", "-n", "2000", &server.url("/schedule")]);
    let record = server.record();
    let (took, least) = (record.took, record.least);
    assert_eq!((result.counts.good, took.len()), (2_000, 2_000));
    [50.0, 75.0, 95.0, 97.0, 99.0]
        .into_iter()
        .find_map(|percent| {
            let (reported, truth) = (micros(&result, percent), truth_percentile(&took, percent));
            // What the client sees includes both ways and waking up; the server's share is a floor.
            let floor = truth_percentile(&least, percent);
            assert!(
                reported >= floor * 0.98,
                "p{percent}: {reported} below the server's {floor} µs"
            );
            let slack = if percent < 90.0 { 4_000.0 } else { 10_000.0 };
            (reported > truth * 1.25 + slack)
                .then(|| format!("p{percent}: {reported} against {truth} µs"))
        })
}

#[test]
fn percentiles_are_those_of_the_server() {
    // A machine that keeps the client itself from running adds to what it sees: three attempts.
    let found: Vec<String> = (0..3).map_while(|_| disagreement()).collect();
    assert!(found.len() < 3, "{found:?}");
}

#[test]
fn a_freeze_shows_in_the_response_time_of_an_open_loop() {
    one_of_three(freeze_in_an_open_loop);
}

fn freeze_in_an_open_loop() {
    let server = Truth::freezing(Duration::from_millis(1_000), Duration::from_millis(400));
    let result = run(&[
        "-r",
        "200",
        "-d",
        "3s",
        "-c",
        "200",
        &server.url("/delay/2"),
    ]);
    let response = result.latency.response.as_ref().unwrap();
    assert!(
        (590..=610).contains(&(result.counts.good as i64)),
        "{:?}",
        result.counts
    );
    // 80 of 600 requests were due in the freeze and waited from 400 ms down to nothing.
    assert!(
        response.percentile(95.0) > 150_000_000,
        "{}",
        response.percentile(95.0)
    );
    assert!(
        (350_000_000..700_000_000).contains(&response.max()),
        "{}",
        response.max()
    );
    assert!(response.percentile(75.0) < 100_000_000);
}

#[test]
fn an_open_loop_with_few_connections_still_counts_from_the_plan() {
    one_of_three(freeze_with_few_connections);
}

fn freeze_with_few_connections() {
    let server = Truth::freezing(Duration::from_millis(1_000), Duration::from_millis(400));
    let result = run(&["-r", "200", "-d", "3s", "-c", "2", &server.url("/delay/2")]);
    let response = result.latency.response.as_ref().unwrap();
    // Service time sees two slow requests, response time all that queued behind them.
    assert!(
        response.percentile(95.0) > 150_000_000,
        "{}",
        response.percentile(95.0)
    );
    assert!(
        result.latency.service.percentile(95.0) < 100_000_000,
        "{}",
        result.latency.service.percentile(95.0)
    );
    assert_eq!(result.counts.unsent, 0);
}

#[test]
fn the_service_time_of_a_closed_loop_hides_the_same_freeze() {
    one_of_three(freeze_in_a_closed_loop);
}

fn freeze_in_a_closed_loop() {
    let server = Truth::freezing(Duration::from_millis(1_000), Duration::from_millis(400));
    let result = run(&["-c", "4", "-d", "3s", &server.url("/delay/2")]);
    assert!(
        result.latency.service.percentile(99.0) < 100_000_000,
        "{}",
        result.latency.service.percentile(99.0)
    );
    assert!(result.latency.service.max() > 350_000_000);
    assert!(
        result.latency.response.is_none(),
        "no response time without a plan"
    );
}

#[test]
fn the_first_byte_and_the_last_are_told_apart() {
    let server = Truth::start();
    let result = run(&["-c", "2", "-n", "20", &server.url("/slow-body/50")]);
    assert!(result.latency.first_byte.percentile(50.0) < 45_000_000);
    assert!(result.latency.service.min() >= 50_000_000);
}

#[test]
fn an_open_loop_keeps_its_rate_and_an_overloaded_one_says_so() {
    let server = Truth::start();
    let result = run(&["-r", "500", "--poisson", "-d", "2s", &server.url("/ok")]);
    assert!(
        (850..=1_150).contains(&result.counts.good),
        "{:?}",
        result.counts
    );
    // Two connections at 20 ms each serve 100/s, 400/s are planned.
    let result = run(&[
        "-r",
        "400",
        "-d",
        "1s",
        "-c",
        "2",
        "--drain",
        "0",
        &server.url("/delay/20"),
    ]);
    assert!(result.counts.unsent > 200, "{:?}", result.counts);
    assert!(has_verdict(&result, "D05"), "{:?}", result.verdicts);
    let response = result.latency.response.unwrap();
    assert_eq!(
        result.latency.response_lower_bounds,
        result.counts.unsent + result.counts.unfinished
    );
    assert!(response.percentile(50.0) > 100_000_000);
}

#[test]
fn stages_change_the_rate() {
    one_of_three(stages);
}

fn stages() {
    let server = Truth::start();
    let result = run(&["--stages", "1s@100,1s@100..500,1s@500", &server.url("/ok")]);
    assert!(
        (890..=910).contains(&result.counts.good),
        "{:?}",
        result.counts
    );
    let first: f64 = result
        .series
        .iter()
        .filter(|point| point.at_s < 0.95)
        .map(|point| point.rate * point.length_s)
        .sum();
    assert!((80.0..=115.0).contains(&first), "{first}");
}

#[test]
fn think_time_and_ramp_slow_a_closed_loop() {
    one_of_three(think_time_and_ramp);
}

fn think_time_and_ramp() {
    let server = Truth::start();
    let result = run(&["-c", "4", "-d", "1s", "--think", "50ms", &server.url("/ok")]);
    assert!(
        (40..=84).contains(&result.counts.good),
        "{:?}",
        result.counts
    );
    let result = run(&[
        "-c",
        "10",
        "-d",
        "1s",
        "--think",
        "1h",
        "--ramp",
        "1s",
        &server.url("/ok"),
    ]);
    assert_eq!(result.counts.good, 10);
    let first_half: f64 = result
        .series
        .iter()
        .filter(|point| point.at_s < 0.45)
        .map(|point| point.rate * point.length_s)
        .sum();
    assert!((3.5..=6.5).contains(&first_half), "{first_half}");
}

#[test]
fn warm_up_is_left_out_but_kept() {
    let server = Truth::start();
    let result = run(&[
        "-c",
        "2",
        "-n",
        "50",
        "--warmup",
        "300ms",
        &server.url("/delay/2"),
    ]);
    let warmup = result.warmup.unwrap();
    assert_eq!(result.counts.good, 50);
    assert!(warmup.requests > 0 && warmup.seconds >= 0.3, "{warmup:?}");
    assert!(server.served() >= 50 + warmup.requests);
}

/// A thread learns of the end of the warm-up a moment later: what it sends until then is not counted, nor taken for one of `-n`.
#[test]
fn a_warm_up_adds_nothing_to_the_number_of_requests() {
    let server = Truth::start();
    for _ in 0..5 {
        let url = server.url("/delay/2");
        let result = run(&["-c", "64", "-n", "300", "--warmup", "50ms", &url]);
        assert_eq!(result.counts.good, 300);
    }
}

#[test]
fn an_automatic_warm_up_ends_when_the_rate_is_steady() {
    let server = Truth::start();
    let result = run(&[
        "-c",
        "2",
        "-n",
        "10",
        "--warmup",
        "auto",
        &server.url("/delay/20"),
    ]);
    let warmup = result.warmup.unwrap();
    // On a machine too busy to be steady it gives up after 30 s and says so.
    assert!(
        warmup.seconds >= 3.0 && (warmup.steady || warmup.seconds >= 30.0),
        "{warmup:?}"
    );
}
