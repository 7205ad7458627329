//! The plan of an open loop: when each request is due, whatever the server does.
//!
//! Arrivals are points of a unit-rate process mapped through the integral of the wanted rate, so
//! constant, stepped and ramped rates, evenly spaced or Poisson, are one piece of code. Nothing is
//! stored: a late generator simply finds the next due time in the past.

use crate::clock::Nanos;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// A stretch of time in which the rate goes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// How long it lasts; the last stage goes on for ever.
    pub length: Duration,
    /// Requests per second at its beginning.
    pub from: f64,
    /// Requests per second at its end.
    pub to: f64,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    Constant,
    /// Independently of each other, as visitors come.
    Poisson,
}

/// The arrivals that one thread is responsible for.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    stages: Vec<Stage>,
    spacing: Spacing,
    rng: SmallRng,
    /// Of all threads.
    threads: f64,
    /// Next arrival as a count of arrivals since the beginning, all threads.
    unit: f64,
    /// Stage in which it falls, that stage's start in seconds and in arrivals.
    stage: usize,
    stage_seconds: f64,
    stage_units: f64,
    origin: Nanos,
    due: Nanos,
    left: u64,
}

impl Schedule {
    /// The part of thread `thread` of `threads`; `limit` is its own number of requests.
    pub(crate) fn new(
        stages: &[Stage],
        spacing: Spacing,
        seed: u64,
        thread: usize,
        threads: usize,
        limit: u64,
    ) -> Self {
        let mut schedule = Self {
            stages: stages.to_vec(),
            spacing,
            rng: SmallRng::seed_from_u64(
                seed.wrapping_mul(0x9e37_79b9).wrapping_add(thread as u64),
            ),
            threads: threads as f64,
            unit: 0.0,
            stage: 0,
            stage_seconds: 0.0,
            stage_units: 0.0,
            origin: 0,
            due: 0,
            left: limit,
        };
        schedule.unit = match spacing {
            Spacing::Constant => thread as f64,
            Spacing::Poisson => schedule.gap(),
        };
        schedule.due = schedule.due_at();
        schedule
    }

    /// Moves the beginning to `origin`.
    pub(crate) fn start_at(&mut self, origin: Nanos) {
        self.due = self.due - self.origin + origin;
        self.origin = origin;
    }

    /// When the next request is due; `None` if there is none left.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Nanos> {
        (self.left > 0).then_some(self.due)
    }

    /// Goes on to the one after.
    pub(crate) fn advance(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.unit += match self.spacing {
            Spacing::Constant => self.threads,
            Spacing::Poisson => self.gap(),
        };
        self.due = self.due_at();
    }

    /// Consumes the requests due before `time`; each due time is told to `each`.
    pub(crate) fn drain_before(&mut self, time: Nanos, mut each: impl FnMut(Nanos)) {
        while let Some(due) = self.peek().filter(|due| *due < time) {
            each(due);
            self.advance();
        }
    }

    fn gap(&mut self) -> f64 {
        -(1.0 - self.rng.random::<f64>()).ln() * self.threads
    }

    fn due_at(&mut self) -> Nanos {
        while self.stage + 1 < self.stages.len() {
            let stage = self.stages[self.stage];
            let units = stage.units();
            if self.unit < self.stage_units + units {
                break;
            }
            self.stage_units += units;
            self.stage_seconds += stage.length.as_secs_f64();
            self.stage += 1;
        }
        let stage = self.stages[self.stage];
        let last = self.stage + 1 == self.stages.len();
        let seconds = self.stage_seconds + stage.seconds_to(self.unit - self.stage_units, last);
        if seconds.is_finite() {
            self.origin + (seconds * 1e9) as u64
        } else {
            u64::MAX
        }
    }
}

impl Stage {
    /// Arrivals in it.
    fn units(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.length.as_secs_f64()
    }

    /// Seconds into the stage at which the integral of the rate reaches `units`.
    fn seconds_to(&self, units: f64, endless: bool) -> f64 {
        let length = self.length.as_secs_f64();
        if units <= 0.0 {
            return 0.0;
        }
        if endless && units > self.units() {
            return length + (units - self.units()) / self.to;
        }
        let slope = if length > 0.0 {
            (self.to - self.from) / length
        } else {
            0.0
        };
        if slope.abs() < 1e-12 {
            return units / self.from;
        }
        // units = from·t + slope·t²/2, in the form that does not cancel
        let root = (self.from * self.from + 2.0 * slope * units)
            .max(0.0)
            .sqrt();
        2.0 * units / (self.from + root)
    }
}

#[cfg(test)]
mod tests {
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
}
