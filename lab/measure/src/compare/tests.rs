use super::*;
use crate::run::{KeepAlive, Point};

fn run(rate: f64, micros: u64) -> Run {
    let mut run = Run::default();
    run.rates.goodput = rate;
    run.counts.good = 1_000;
    for second in 0..10 {
        let mut latency = Distribution::new();
        latency.record_n(micros * 1_000 + second * 500, 100);
        run.latency.service.merge(&latency);
        run.series.push(Point {
            goodput: rate * (1.0 + 0.001 * second as f64),
            length_s: 1.0,
            latency,
            ..Point::default()
        });
    }
    run
}

#[test]
fn a_clear_change_is_named_in_both_directions() {
    let comparison = compare(&[run(1_000.0, 100)], &[run(1_300.0, 70)]);
    assert_eq!(comparison.rows[0].word(), Word::Better);
    assert_eq!(comparison.rows[1].word(), Word::Better);
    let back = compare(&[run(1_300.0, 70)], &[run(1_000.0, 100)]);
    assert_eq!(back.rows[0].word(), Word::Worse);
    assert!(back.rows[0].regressed(0.05));
    assert!(!back.rows[0].regressed(0.5));
}

#[test]
fn the_same_run_twice_is_no_difference() {
    let comparison = compare(&[run(1_000.0, 100)], &[run(1_000.0, 100)]);
    assert!(
        comparison
            .rows
            .iter()
            .take(5)
            .all(|row| row.word() == Word::NoDifference)
    );
    assert!(comparison.cautions[0].contains("--repeat"));
}

#[test]
fn trials_are_ranked() {
    let a: Vec<Run> = (0..6).map(|i| run(1_000.0 + f64::from(i), 100)).collect();
    let b: Vec<Run> = (0..6).map(|i| run(1_200.0 + f64::from(i), 90)).collect();
    let comparison = compare(&a, &b);
    assert!(comparison.p.is_some_and(|p| p < 0.003));
    assert_eq!(comparison.rows[0].word(), Word::Better);
}

#[test]
fn unlike_runs_are_named_and_can_be_allowed() {
    let (a, mut b) = (run(1.0, 1), run(1.0, 1));
    b.setup.keep_alive = KeepAlive::Off;
    b.setup.target = "http://other/".into();
    let found = unlike(&a, &b, &[]);
    assert_eq!(
        found.iter().map(|one| one.field).collect::<Vec<_>>(),
        ["keep-alive", "target"]
    );
    assert_eq!(
        unlike(&a, &b, &["keep-alive".into(), "target".into()]),
        vec![]
    );
}
