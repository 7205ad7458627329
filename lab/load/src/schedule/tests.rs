use super::*;
use proptest::prelude::*;

fn constant(rate: f64) -> Vec<Stage> {
    vec![Stage {
        length: Duration::ZERO,
        from: rate,
        to: rate,
    }]
}

fn times(mut schedule: Schedule, count: usize) -> Vec<Nanos> {
    (0..count)
        .map(|_| {
            let due = schedule.peek().unwrap();
            schedule.advance();
            due
        })
        .collect()
}

fn count_before(schedule: &mut Schedule, time: Nanos) -> u64 {
    let mut count = 0;
    schedule.drain_before(time, |_| count += 1);
    count
}

#[test]
fn a_constant_rate_is_exact_over_all_threads() {
    let mut all: Vec<Nanos> = (0..3)
        .flat_map(|thread| {
            times(
                Schedule::new(
                    &constant(1_000.0),
                    Spacing::Constant,
                    1,
                    thread,
                    3,
                    u64::MAX,
                ),
                100,
            )
        })
        .collect();
    all.sort_unstable();
    for (index, due) in all.iter().enumerate() {
        assert!(
            due.abs_diff(index as u64 * 1_000_000) <= 1,
            "{index}: {due}"
        );
    }
}

#[test]
fn a_ramp_from_nothing_reaches_its_integral() {
    let stages = [
        Stage {
            length: Duration::from_secs(10),
            from: 0.0,
            to: 100.0,
        },
        Stage {
            length: Duration::from_secs(1),
            from: 100.0,
            to: 100.0,
        },
    ];
    let mut schedule = Schedule::new(&stages, Spacing::Constant, 1, 0, 1, u64::MAX);
    assert_eq!(count_before(&mut schedule, 5_000_000_000), 125);
    assert_eq!(count_before(&mut schedule, 10_000_000_000), 375);
    assert_eq!(count_before(&mut schedule, 12_000_000_000), 200);
}

#[test]
fn a_limit_ends_it() {
    let mut schedule = Schedule::new(&constant(1_000.0), Spacing::Constant, 1, 0, 1, 5);
    assert_eq!(count_before(&mut schedule, u64::MAX), 5);
    assert_eq!(schedule.peek(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn times_never_go_back_and_keep_the_rate(
        rates in proptest::collection::vec((1.0_f64..500.0, 1.0_f64..500.0, 1_u64..4), 1..4),
        seed in any::<u64>(), poisson in any::<bool>(), threads in 1_usize..5,
    ) {
        let stages: Vec<Stage> = rates.iter()
            .map(|(from, to, seconds)| Stage { length: Duration::from_secs(*seconds), from: *from, to: *to }).collect();
        let spacing = if poisson { Spacing::Poisson } else { Spacing::Constant };
        let expected: f64 = stages.iter().map(Stage::units).sum();
        let end: u64 = rates.iter().map(|rate| rate.2).sum::<u64>() * 1_000_000_000;
        let mut total = 0.0;
        for thread in 0..threads {
            let mut schedule = Schedule::new(&stages, spacing, seed, thread, threads, u64::MAX);
            let mut before = 0;
            while let Some(due) = schedule.peek().filter(|due| *due < end) {
                prop_assert!(due >= before);
                before = due;
                total += 1.0;
                schedule.advance();
            }
        }
        let slack = if poisson { 6.0 * expected.sqrt() + 5.0 } else { threads as f64 + 1.0 };
        prop_assert!((total - expected).abs() <= slack, "{total} against {expected}");
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential(seed in any::<u64>(), rate in 10.0_f64..10_000.0) {
        let due = times(Schedule::new(&constant(rate), Spacing::Poisson, seed, 0, 1, u64::MAX), 4_000);
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let (mean, sd) = (measure::stats::mean(&gaps), measure::stats::stdev(&gaps));
        prop_assert!((mean * rate - 1.0).abs() < 0.12, "mean {mean} at {rate}");
        prop_assert!((sd / mean - 1.0).abs() < 0.2, "sd {sd} mean {mean}");
    }
}
