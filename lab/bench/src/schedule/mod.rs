//! The division of a run's time: how often and for how long each scenario is measured. It is decided anew before each
//! scenario, from the time that is left and the cost of servers so far beside their measurements.

mod pace;

use pace::MOST;
pub(crate) use pace::{Cost, Pace};
use report::Effort;
use std::time::{Duration, Instant};

/// The assumed seconds that a server costs beside its measurements, until some have been started: start, check, warm-up,
/// stop.
const OVERHEAD: f64 = 0.6;
/// The number of servers that this first guess counts for.
const GUESSED: f64 = 4.0;

/// Rounds of `--full`.
pub(crate) const ROUNDS_FULL: u32 = 6;

/// How thoroughly a run measures, as the user asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) effort: Effort,
    pub(crate) rounds: Option<u32>,
    pub(crate) seconds: Option<f64>,
    pub(crate) budget: Option<Duration>,
}

/// The times until which measurements of a scenario may begin; `None` is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadline {
    /// The limit of the first round: each server is measured once before any is measured twice.
    pub(crate) first_round: Option<Instant>,
    /// The limit of further rounds.
    pub(crate) further: Option<Instant>,
}

/// The time of a run: its budget, and the costs of its scenarios.
#[derive(Debug)]
pub(crate) struct Schedule {
    wanted: Wanted,
    began: Instant,
    costs: Vec<Cost>,
    /// Servers started so far, and the seconds that they cost beside their measurements.
    turns: f64,
    overhead: f64,
}

impl Schedule {
    pub(crate) fn new(wanted: Wanted, began: Instant, costs: Vec<Cost>) -> Self {
        Self {
            wanted,
            began,
            costs,
            turns: GUESSED,
            overhead: OVERHEAD * GUESSED,
        }
    }

    /// Learns from a server that was measured for `measured` seconds and took `took` from its start to its end.
    pub(crate) fn learn(&mut self, took: Duration, measured: f64) {
        self.turns += 1.0;
        self.overhead += (took.as_secs_f64() - measured).max(0.0);
    }

    fn overhead(&self) -> f64 {
        self.overhead / self.turns
    }

    /// Returns the seconds that are left of the budget.
    fn budget_left(&self, now: Instant) -> Option<f64> {
        let budget = self.wanted.budget?;
        let gone = now.saturating_duration_since(self.began);
        Some(budget.saturating_sub(gone).as_secs_f64())
    }

    /// Returns how the scenario at place `at` is measured, and those after it if nothing changes.
    pub(crate) fn pace(&self, at: usize, now: Instant) -> Pace {
        let costs = self.costs.get(at..).unwrap_or_default();
        let pace = match (self.wanted.effort, self.budget_left(now)) {
            (Effort::Full, _) => Pace {
                decides: ROUNDS_FULL,
                others: ROUNDS_FULL,
                seconds: MOST,
            },
            (effort, left) => {
                Pace::fitting(costs, left.unwrap_or(f64::MAX), self.overhead(), effort)
            }
        };
        Pace {
            decides: self.wanted.rounds.unwrap_or(pace.decides),
            others: self.wanted.rounds.unwrap_or(pace.others),
            seconds: self.wanted.seconds.unwrap_or(pace.seconds),
        }
    }

    /// Returns the expected seconds of each scenario from place `at` on.
    fn expected(&self, at: usize, now: Instant) -> Vec<f64> {
        let pace = self.pace(at, now);
        let costs = self.costs.get(at..).unwrap_or_default();
        let one = |cost: &Cost| cost.seconds(pace, self.overhead());
        costs.iter().map(one).collect()
    }

    /// Returns until when that scenario may measure, if it begins now: its further rounds get a part of the time left in
    /// proportion to its cost.
    pub(crate) fn deadline(&self, at: usize, now: Instant) -> Deadline {
        let Some(left) = self.budget_left(now) else {
            return Deadline::default();
        };
        let expected = self.expected(at, now);
        let own = expected.first().copied().unwrap_or(0.0);
        let share = own / expected.iter().sum::<f64>().max(1e-9);
        Deadline {
            first_round: now.checked_add(Duration::from_secs_f64(left)),
            further: now.checked_add(Duration::from_secs_f64(left * share)),
        }
    }

    /// Returns the expected seconds until the end of the run, if `turns` turns of that scenario at this pace are still to
    /// come.
    pub(crate) fn left(&self, at: usize, turns: u32, pace: Pace, now: Instant) -> f64 {
        let own = self.costs.get(at).copied().unwrap_or_default();
        let later: f64 = self.expected(at + 1, now).iter().sum();
        let all = later + f64::from(turns) * own.one(pace.seconds, self.overhead());
        self.budget_left(now).map_or(all, |left| all.min(left))
    }

    /// Returns the expected seconds of the whole run from now on.
    pub(crate) fn left_of_all(&self, now: Instant) -> f64 {
        let all: f64 = self.expected(0, now).iter().sum();
        self.budget_left(now).map_or(all, |left| all.min(left))
    }

    /// Returns the number of servers that the scenarios from place `at` on will start.
    pub(crate) fn turns(&self, at: usize, now: Instant) -> u32 {
        let pace = self.pace(at, now);
        let costs = self.costs.get(at..).unwrap_or_default();
        costs.iter().map(|cost| cost.turns(pace)).sum::<f64>() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::pace::{LEAST, Part};
    use super::*;

    fn cost(decides: f64, others: f64) -> Cost {
        let part = |turns: f64| Part {
            turns,
            timed: turns,
            ..Part::default()
        };
        Cost {
            decides: part(decides),
            others: part(others),
            ..Cost::default()
        }
    }

    fn schedule(costs: Vec<Cost>, minutes: f64) -> Schedule {
        let wanted = Wanted {
            effort: Effort::Standard,
            rounds: None,
            seconds: None,
            budget: Some(Duration::from_secs_f64(minutes * 60.0)),
        };
        Schedule::new(wanted, Instant::now(), costs)
    }

    #[test]
    fn what_fits_is_measured_in_six_rounds() {
        let small = schedule(vec![cost(0.0, 10.0)], 15.0);
        let pace = small.pace(0, small.began);
        assert_eq!(pace.others, 6);
        assert!(pace.seconds <= MOST && pace.seconds > 9.9, "{pace:?}");
        let middle = schedule(vec![cost(50.0, 50.0)], 15.0);
        let pace = middle.pace(0, middle.began);
        let seconds = 15.0 * 60.0 * 0.95 / 600.0 - OVERHEAD;
        assert_eq!((pace.decides, pace.others), (6, 6));
        assert!((pace.seconds - seconds).abs() < 1e-3, "{pace:?}");
    }

    #[test]
    fn what_decides_has_repeats_before_others_have_them() {
        let large = schedule(vec![cost(60.0, 50.0), cost(40.0, 250.0)], 15.0);
        let pace = large.pace(0, large.began);
        assert_eq!((pace.decides, pace.others), (6, 1));
        let all: f64 = large.expected(0, large.began).iter().sum();
        assert!(all <= 15.0 * 60.0, "{all} {pace:?}");
        let hopeless = schedule(vec![cost(9000.0, 0.0)], 15.0);
        let pace = hopeless.pace(0, hopeless.began);
        assert_eq!((pace.decides, pace.seconds), (1, LEAST));
    }

    #[test]
    fn what_servers_cost_is_learned() {
        let mut run = schedule(vec![cost(100.0, 100.0), cost(0.0, 150.0)], 15.0);
        let before = run.pace(1, run.began);
        (0..100).for_each(|_| run.learn(Duration::from_millis(700), 0.5));
        let after = run.pace(1, run.began);
        assert!(run.overhead() < 0.25, "{}", run.overhead());
        assert!(after.seconds > before.seconds, "{before:?} {after:?}");
        let left = run.left(1, 10, after, run.began);
        let one = run.overhead() + after.seconds;
        assert!((left - 10.0 * one).abs() < 1e-6, "{left}");
    }

    #[test]
    fn each_scenario_has_its_part_of_the_time() {
        let run = schedule(vec![cost(0.0, 10.0), cost(0.0, 30.0)], 15.0);
        let deadline = run.deadline(0, run.began).further.expect("a time");
        let part = deadline.duration_since(run.began).as_secs_f64();
        assert!((part - 225.0).abs() < 1.0, "{part}");
        let wanted = Wanted {
            budget: None,
            effort: Effort::Full,
            ..run.wanted
        };
        let none = Schedule::new(wanted, run.began, vec![cost(1.0, 0.0)]);
        assert!(none.deadline(0, none.began).further.is_none());
        let pace = none.pace(0, none.began);
        assert_eq!((pace.most(), pace.seconds), (6, MOST));
    }
}
