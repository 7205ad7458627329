//! What a change to the user's app is worth, from the two cells that show it.

use crate::cell::Metric;
use crate::stats::{Change, Estimate};
use crate::{Advice, Run};

/// A measured gain.
#[derive(Clone, Debug)]
pub struct Gain {
    /// Good responses per second without the change.
    pub base: Estimate,
    /// With it.
    pub with: Estimate,
    /// With it over without it.
    pub ratio: Estimate,
    /// The same ratio of server CPU per request.
    pub cpu: Option<Estimate>,
    /// The same ratio of memory.
    pub memory: Option<Estimate>,
}

/// The gain of a piece of advice; none if one of its cells has no figures, or fails requests.
#[must_use]
pub fn gain(run: &Run, advice: &Advice) -> Option<Gain> {
    let scenario = run.scenario(&advice.scenario)?;
    let (base, with) = (scenario.cell(&advice.base)?, scenario.cell(&advice.with)?);
    if base.failing() || with.failing() {
        return None;
    }
    let ratio = |metric: &Metric| with.ratio_to(base, metric, true);
    Some(Gain {
        base: base.figure(&Metric::Goodput)?,
        with: with.figure(&Metric::Goodput)?,
        ratio: ratio(&Metric::Goodput)?,
        cpu: ratio(&Metric::Cpu),
        memory: ratio(&Metric::Memory),
    })
}

/// What a gain allows to say of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// More, and surely so.
    Helps,
    /// The interval holds both, or is of one repeat.
    NotShown,
    /// Less, and surely so.
    Costs,
    /// One of its cells has no figures, or failed requests.
    NotMeasured,
}

impl Worth {
    /// Judges a gain; `floor` is how much the same server differs from itself.
    #[must_use]
    pub fn of(gain: Option<&Gain>, floor: f64) -> Self {
        match gain.map(|gain| Change::of(&gain.ratio, floor)) {
            Some(Change::More) => Self::Helps,
            Some(Change::Less) => Self::Costs,
            Some(Change::NotShown) => Self::NotShown,
            None => Self::NotMeasured,
        }
    }

    /// In a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Helps => "helps",
            Self::NotShown => "not shown",
            Self::Costs => "costs",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Every piece of advice with its gain: what helps first and the most, then what shows no difference, then what costs.
#[must_use]
pub fn gains(run: &Run) -> Vec<(&Advice, Option<Gain>)> {
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    let mut all: Vec<_> = run.advice.iter().map(|one| (one, gain(run, one))).collect();
    let ratio = |gain: &Option<Gain>| gain.as_ref().map_or(0.0, |gain| gain.ratio.value);
    all.sort_by(|(_, a), (_, b)| {
        let worth = |gain: &Option<Gain>| Worth::of(gain.as_ref(), floor);
        worth(a).cmp(&worth(b)).then(ratio(b).total_cmp(&ratio(a)))
    });
    all
}
