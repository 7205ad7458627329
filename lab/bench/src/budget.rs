//! How the time of a run is divided: the number and length of rounds, and until when each scenario may begin another measurement.

use crate::load::Amount;
use crate::scenarios::Arm;
use std::time::Duration;

/// What a turn costs beside its measured seconds and its warm-up: start, check, stop.
const OVERHEAD: f64 = 0.9;
/// Part of the budget that is planned; the rest is for what takes longer.
const PLANNED: f64 = 0.9;
/// The shortest measurement that is worth a round.
const LEAST: f64 = 0.5;
const MOST: f64 = 10.0;

/// What the turns of a round cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Seconds however long is measured.
    fixed: f64,
    /// Loads that are measured for the run's own length.
    timed: f64,
}

impl Cost {
    /// Of one round of these arms.
    pub(crate) fn of<'a>(arms: impl Iterator<Item = &'a Arm>, warmup: f64) -> Self {
        let mut cost = Self::default();
        for arm in arms {
            cost.fixed += OVERHEAD + warmup;
            for load in &arm.loads {
                match load.amount {
                    Some(Amount::Requests(_, most)) => cost.fixed += most * 0.6,
                    Some(Amount::Seconds(seconds)) => cost.fixed += seconds,
                    None => cost.timed += 1.0,
                }
            }
        }
        cost
    }

    /// Seconds of one round.
    pub(crate) fn seconds(self, measured: f64) -> f64 {
        self.fixed + self.timed * measured
    }

    /// Rounds and seconds of each measurement that fit: three rounds if that leaves half a second for each, else two.
    pub(crate) fn fitting(self, budget: f64) -> (u32, f64) {
        let seconds =
            |rounds: u32| (budget * PLANNED / f64::from(rounds) - self.fixed) / self.timed.max(1.0);
        let rounds = if seconds(3) >= LEAST { 3 } else { 2 };
        (rounds, seconds(rounds).clamp(LEAST, MOST))
    }
}

/// Until when each scenario may measure, after the start of the run: a part of the budget as large as its cost, and what those before it left.
pub(crate) fn deadlines(costs: &[f64], budget: Duration) -> Vec<Duration> {
    let all: f64 = costs.iter().sum::<f64>().max(1e-9);
    let mut so_far = 0.0;
    let until = |cost: &f64| {
        so_far += cost / all;
        budget.mul_f64(so_far.min(1.0))
    };
    costs.iter().map(until).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_measured_in_three_rounds() {
        let small = Cost {
            fixed: 10.0,
            timed: 10.0,
        };
        assert_eq!(
            small.fitting(900.0),
            (3, 10.0),
            "no longer than ten seconds"
        );
        let (rounds, seconds) = Cost {
            fixed: 100.0,
            timed: 100.0,
        }
        .fitting(900.0);
        assert!(
            rounds == 3 && (seconds - 1.7).abs() < 1e-9,
            "{rounds} {seconds}"
        );
        let (rounds, seconds) = Cost {
            fixed: 230.0,
            timed: 190.0,
        }
        .fitting(900.0);
        assert!(
            rounds == 2 && (seconds - 0.921).abs() < 0.001,
            "{rounds} {seconds}"
        );
        assert_eq!(
            Cost {
                fixed: 9000.0,
                timed: 10.0
            }
            .fitting(900.0),
            (2, LEAST)
        );
    }

    #[test]
    fn each_scenario_has_its_part_of_the_time() {
        let parts = deadlines(&[1.0, 3.0], Duration::from_secs(100));
        assert_eq!(parts, [Duration::from_secs(25), Duration::from_secs(100)]);
    }
}
