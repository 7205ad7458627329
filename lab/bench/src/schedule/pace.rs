//! The cost of measuring a scenario, and how often and for how long it is measured.

use crate::load::Amount;
use crate::scenarios::{Arm, Scenario};
use report::Effort;

/// The part of the time that is planned; the rest is a reserve.
const PLANNED: f64 = 0.95;
/// The shortest measurement, in seconds, that is worth a round.
pub(super) const LEAST: f64 = 0.25;
pub(super) const MOST: f64 = 10.0;
const MOST_QUICK: f64 = 0.5;
/// Rounds of the servers that claims and advice rest on, and of the others: the first pair that leaves enough time for
/// each measurement. Six repeats have an interval without assumptions, two have one that says hardly anything: servers
/// that decide get their repeats first.
const ROUNDS: [(u32, u32); 9] = [
    (6, 6),
    (6, 3),
    (6, 2),
    (6, 1),
    (5, 1),
    (4, 1),
    (3, 1),
    (2, 1),
    (1, 1),
];
const ROUNDS_QUICK: [(u32, u32); 5] = [(3, 3), (3, 2), (3, 1), (2, 1), (1, 1)];
/// Loads with a length of their own of more than this many seconds have three rounds at most: they show connections that
/// wait for seconds, which needs no more.
const LONG: f64 = 5.0;
const ROUNDS_LONG: u32 = 3;

/// The rounds that a server takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Claims or advice rest on the server.
    Decides,
    /// Claims or advice rest on the server, and its loads take long.
    Long,
    Other,
}

impl Kind {
    fn of(arm: &Arm) -> Self {
        match arm.decides {
            true if Part::of(arm).fixed > LONG => Self::Long,
            true => Self::Decides,
            false => Self::Other,
        }
    }
}

/// The cost of a round of some servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Servers that are started.
    pub(super) turns: f64,
    /// Seconds of loads with a length of their own.
    pub(super) fixed: f64,
    /// Loads that are measured for as long as the run decides.
    pub(super) timed: f64,
}

impl Part {
    fn of(arm: &Arm) -> Self {
        let mut part = Self {
            turns: 1.0,
            ..Self::default()
        };
        for load in &arm.loads {
            match load.amount {
                // The other servers complete the requests long before.
                Some(Amount::Requests(_, most)) if arm.runtime.id() == "apache" => {
                    part.fixed += most;
                }
                Some(Amount::Requests(..)) => part.fixed += 1.0,
                Some(Amount::Seconds(seconds)) => part.fixed += seconds,
                None => part.timed += 1.0,
            }
        }
        part
    }

    fn add(&mut self, other: Self) {
        self.turns += other.turns;
        self.fixed += other.fixed;
        self.timed += other.timed;
    }

    fn seconds(self, overhead: f64, measured: f64) -> f64 {
        self.turns * overhead + self.fixed + self.timed * measured
    }
}

/// The cost of a round of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub(super) decides: Part,
    pub(super) long: Part,
    pub(super) others: Part,
    /// The shortest measurement, in seconds, whose figures mean something.
    pub(super) least: f64,
}

impl Cost {
    pub(crate) fn of<'a>(scenario: &Scenario, arms: impl Iterator<Item = &'a Arm>) -> Self {
        let mut cost = Self {
            least: scenario.least_seconds,
            ..Self::default()
        };
        for arm in arms {
            let part = match Kind::of(arm) {
                Kind::Decides => &mut cost.decides,
                Kind::Long => &mut cost.long,
                Kind::Other => &mut cost.others,
            };
            part.add(Part::of(arm));
        }
        cost
    }

    pub(super) fn seconds(self, pace: Pace, overhead: f64) -> f64 {
        let measured = pace.seconds.max(self.least);
        let of = |rounds: u32, part: Part| f64::from(rounds) * part.seconds(overhead, measured);
        of(pace.decides, self.decides) + of(pace.long(), self.long) + of(pace.others, self.others)
    }

    /// Returns the number of servers that are started at that pace.
    pub(super) fn turns(self, pace: Pace) -> f64 {
        let of = |rounds: u32, part: Part| f64::from(rounds) * part.turns;
        of(pace.decides, self.decides) + of(pace.long(), self.long) + of(pace.others, self.others)
    }

    /// Returns the seconds of one turn of one server.
    pub(super) fn one(self, seconds: f64, overhead: f64) -> f64 {
        let once = Pace {
            decides: 1,
            others: 1,
            seconds,
        };
        self.seconds(once, overhead) / self.turns(once).max(1.0)
    }
}

/// How often a scenario is measured, and for how long each time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// Rounds of the servers that claims and advice rest on.
    pub(super) decides: u32,
    /// Rounds of the other servers.
    pub(super) others: u32,
    pub(crate) seconds: f64,
}

impl Pace {
    fn long(self) -> u32 {
        self.decides.min(ROUNDS_LONG)
    }

    /// Returns the rounds of that server.
    pub(crate) fn rounds(self, arm: &Arm) -> u32 {
        match Kind::of(arm) {
            Kind::Decides => self.decides,
            Kind::Long => self.long(),
            Kind::Other => self.others,
        }
    }

    /// Returns the rounds of the servers that have the most.
    pub(crate) fn most(self) -> u32 {
        self.decides.max(self.others)
    }

    /// Returns the pace at which scenarios of these costs fit into the seconds that are left.
    pub(super) fn fitting(costs: &[Cost], left: f64, overhead: f64, effort: Effort) -> Self {
        let (most, all): (f64, &[(u32, u32)]) = match effort {
            Effort::Quick => (MOST_QUICK, &ROUNDS_QUICK),
            _ => (MOST, &ROUNDS),
        };
        let pace = |(decides, others): (u32, u32), seconds: f64| Self {
            decides,
            others,
            seconds,
        };
        let fits = |pace: Self| {
            let all: f64 = costs.iter().map(|cost| cost.seconds(pace, overhead)).sum();
            all <= left * PLANNED
        };
        let mut rounds = all.iter().copied();
        let rounds = rounds.find(|rounds| fits(pace(*rounds, LEAST)));
        let rounds = rounds.unwrap_or((1, 1));
        let (mut low, mut high) = (LEAST, most);
        // The longest measurements that fit, found by bisection.
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
}
