//! How the time of a run is divided: how often and for how long each scenario is measured. It is decided anew before each of them, by
//! the time that is left and by what servers have cost so far beside their measurements.

use crate::load::Amount;
use crate::scenarios::{Arm, Scenario};
use report::Effort;
use std::time::{Duration, Instant};

/// What a server is taken to cost beside its measurements, until some have been started: start, check, warm-up, stop.
const OVERHEAD: f64 = 0.6;
/// Servers that the first guess counts for.
const GUESSED: f64 = 4.0;
/// Part of the time that is planned; the rest is for what takes longer.
const PLANNED: f64 = 0.95;
/// The shortest measurement that is worth a round.
const LEAST: f64 = 0.25;
const MOST: f64 = 10.0;
const MOST_QUICK: f64 = 0.5;
/// Rounds of servers that a write-up's claims rest on, and of the others: the first that leave time enough for each measurement.
/// Two repeats have an interval that says hardly anything: claims get three before others get a second.
const ROUNDS: [(u32, u32); 5] = [(3, 3), (3, 2), (3, 1), (2, 1), (1, 1)];

/// What a round of some servers costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Part {
    /// Servers that are started.
    turns: f64,
    /// Seconds of loads that have a length of their own.
    fixed: f64,
    /// Loads that are measured for as long as the run says.
    timed: f64,
}

impl Part {
    fn add(&mut self, arm: &Arm) {
        self.turns += 1.0;
        for load in &arm.loads {
            match load.amount {
                // The others are done long before.
                Some(Amount::Requests(_, most)) if arm.runtime.id() == "apache" => {
                    self.fixed += most;
                }
                Some(Amount::Requests(..)) => self.fixed += 1.0,
                Some(Amount::Seconds(seconds)) => self.fixed += seconds,
                None => self.timed += 1.0,
            }
        }
    }

    fn seconds(self, overhead: f64, measured: f64) -> f64 {
        self.turns * overhead + self.fixed + self.timed * measured
    }
}

/// What a round of a scenario costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Servers that a write-up's claims rest on.
    claimed: Part,
    others: Part,
    /// The shortest measurement that says something about it.
    least: f64,
}

impl Cost {
    pub(crate) fn of<'a>(scenario: &Scenario, arms: impl Iterator<Item = &'a Arm>) -> Self {
        let mut cost = Self {
            least: scenario.least_seconds,
            ..Self::default()
        };
        for arm in arms {
            if is_claimed(scenario, arm) {
                cost.claimed.add(arm);
            } else {
                cost.others.add(arm);
            }
        }
        cost
    }

    fn seconds(self, pace: Pace, overhead: f64) -> f64 {
        let measured = pace.seconds.max(self.least);
        f64::from(pace.claimed) * self.claimed.seconds(overhead, measured)
            + f64::from(pace.others) * self.others.seconds(overhead, measured)
    }

    /// A server of it, once.
    fn one(self, seconds: f64, overhead: f64) -> f64 {
        let once = Pace {
            claimed: 1,
            others: 1,
            seconds,
        };
        self.seconds(once, overhead) / (self.claimed.turns + self.others.turns).max(1.0)
    }
}

fn is_claimed(scenario: &Scenario, arm: &Arm) -> bool {
    report::claims::rest_on(scenario.name, arm.runtime.id())
}

/// How often a scenario is measured, and for how long each time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// Rounds of the servers that a write-up's claims rest on.
    claimed: u32,
    /// Rounds of the others.
    others: u32,
    pub(crate) seconds: f64,
}

impl Pace {
    /// Rounds of that server.
    pub(crate) fn rounds(self, scenario: &Scenario, arm: &Arm) -> u32 {
        if is_claimed(scenario, arm) {
            self.claimed
        } else {
            self.others
        }
    }

    /// Rounds of any.
    pub(crate) fn most(self) -> u32 {
        self.claimed.max(self.others)
    }
}

/// How thoroughly a run measures, as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) effort: Effort,
    pub(crate) rounds: Option<u32>,
    pub(crate) seconds: Option<f64>,
    pub(crate) budget: Option<Duration>,
}

/// Until when measurements of a scenario may begin; without a time there is no end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadline {
    /// Its first round: each server is measured once before any is measured twice.
    pub(crate) first_round: Option<Instant>,
    /// Its further rounds.
    pub(crate) further: Option<Instant>,
}

/// The time of a run.
#[derive(Debug)]
pub(crate) struct Schedule {
    wanted: Wanted,
    began: Instant,
    costs: Vec<Cost>,
    /// Servers started so far, and what they cost beside their measurements.
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

    /// A server was measured for some seconds, and took `took` from its start to its end.
    pub(crate) fn learn(&mut self, took: Duration, measured: f64) {
        self.turns += 1.0;
        self.overhead += (took.as_secs_f64() - measured).max(0.0);
    }

    fn overhead(&self) -> f64 {
        self.overhead / self.turns
    }

    /// Seconds that are left of the budget.
    fn budget_left(&self, now: Instant) -> Option<f64> {
        let budget = self.wanted.budget?;
        let gone = now.saturating_duration_since(self.began);
        Some(budget.saturating_sub(gone).as_secs_f64())
    }

    /// How the scenario of that place is measured, and those after it if nothing changes.
    pub(crate) fn pace(&self, at: usize, now: Instant) -> Pace {
        let costs = self.costs.get(at..).unwrap_or_default();
        let pace = match (self.wanted.effort, self.budget_left(now)) {
            (Effort::Full, _) => Pace {
                claimed: 6,
                others: 6,
                seconds: MOST,
            },
            (effort, left) => fitting(costs, left.unwrap_or(f64::MAX), self.overhead(), effort),
        };
        Pace {
            claimed: self.wanted.rounds.unwrap_or(pace.claimed),
            others: self.wanted.rounds.unwrap_or(pace.others),
            seconds: self.wanted.seconds.unwrap_or(pace.seconds),
        }
    }

    /// Seconds that each of the scenarios from that one on is going to take.
    fn expected(&self, at: usize, now: Instant) -> Vec<f64> {
        let pace = self.pace(at, now);
        let costs = self.costs.get(at..).unwrap_or_default();
        let one = |cost: &Cost| cost.seconds(pace, self.overhead());
        costs.iter().map(one).collect()
    }

    /// Until when that scenario may measure, if it begins now: its further rounds for a part of what is left that is as large as its cost.
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

    /// Seconds that the run is going to take from now on, if `turns` of that scenario's at this pace are still to come.
    pub(crate) fn left(&self, at: usize, turns: u32, pace: Pace, now: Instant) -> f64 {
        let own = self.costs.get(at).copied().unwrap_or_default();
        let later: f64 = self.expected(at + 1, now).iter().sum();
        let all = later + f64::from(turns) * own.one(pace.seconds, self.overhead());
        self.budget_left(now).map_or(all, |left| all.min(left))
    }

    /// Seconds that the whole run is going to take from now on.
    pub(crate) fn left_of_all(&self, now: Instant) -> f64 {
        let all: f64 = self.expected(0, now).iter().sum();
        self.budget_left(now).map_or(all, |left| all.min(left))
    }

    /// Servers that are going to be started by the scenarios from that one on.
    pub(crate) fn turns(&self, at: usize, now: Instant) -> u32 {
        let pace = self.pace(at, now);
        let one = |cost: &Cost| {
            f64::from(pace.claimed) * cost.claimed.turns
                + f64::from(pace.others) * cost.others.turns
        };
        let costs = self.costs.get(at..).unwrap_or_default();
        costs.iter().map(one).sum::<f64>() as u32
    }
}

/// The pace that fits.
fn fitting(costs: &[Cost], left: f64, overhead: f64, effort: Effort) -> Pace {
    let most = if effort == Effort::Quick {
        MOST_QUICK
    } else {
        MOST
    };
    let pace = |(claimed, others): (u32, u32), seconds: f64| Pace {
        claimed,
        others,
        seconds,
    };
    let fits = |pace: Pace| {
        let all: f64 = costs.iter().map(|cost| cost.seconds(pace, overhead)).sum();
        all <= left * PLANNED
    };
    let rounds = ROUNDS.into_iter().find(|rounds| fits(pace(*rounds, LEAST)));
    let rounds = rounds.unwrap_or((1, 1));
    let (mut low, mut high) = (LEAST, most);
    // Longer measurements take longer: the longest that fit are found by halving.
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        if fits(pace(rounds, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    pace(rounds, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(claimed: f64, others: f64) -> Cost {
        let part = |turns: f64| Part {
            turns,
            timed: turns,
            ..Part::default()
        };
        Cost {
            claimed: part(claimed),
            others: part(others),
            least: 0.0,
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
    fn what_fits_is_measured_in_three_rounds() {
        let small = schedule(vec![cost(0.0, 10.0)], 15.0);
        let pace = small.pace(0, small.began);
        assert_eq!(pace.others, 3);
        assert!(pace.seconds <= MOST && pace.seconds > 9.9, "{pace:?}");
        let middle = schedule(vec![cost(50.0, 50.0)], 15.0);
        let pace = middle.pace(0, middle.began);
        let seconds = 15.0 * 60.0 * PLANNED / 300.0 - OVERHEAD;
        assert_eq!((pace.claimed, pace.others), (3, 3));
        assert!((pace.seconds - seconds).abs() < 1e-3, "{pace:?}");
    }

    #[test]
    fn claims_have_repeats_before_others_have_them() {
        let large = schedule(vec![cost(100.0, 50.0), cost(100.0, 250.0)], 15.0);
        let pace = large.pace(0, large.began);
        assert_eq!((pace.claimed, pace.others), (3, 1));
        let all: f64 = large.expected(0, large.began).iter().sum();
        assert!(all <= 15.0 * 60.0, "{all} {pace:?}");
        let hopeless = schedule(vec![cost(9000.0, 0.0)], 15.0);
        let pace = hopeless.pace(0, hopeless.began);
        assert_eq!((pace.claimed, pace.seconds), (1, LEAST));
    }

    #[test]
    fn what_servers_cost_is_learned() {
        let mut run = schedule(vec![cost(100.0, 100.0), cost(0.0, 300.0)], 15.0);
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
