//! The measured gain of a change to the user's app, from the two cells that show it.

use crate::cell::Metric;
use crate::stats::{Change, Estimate};
use crate::{Advice, Run};

/// The gain of a change.
#[derive(Clone, Debug)]
pub struct Gain {
    /// Good responses per second without the change.
    pub base: Estimate,
    /// Good responses per second with the change.
    pub with: Estimate,
    /// Ratio of the rates, with the change over without it.
    pub ratio: Estimate,
    /// The same ratio for server CPU per request.
    pub cpu: Option<Estimate>,
    /// The same ratio for memory.
    pub memory: Option<Estimate>,
}

/// Returns the gain of a piece of advice; none if one of its cells has no figures, or is of a failing server.
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

/// The conclusion that a gain allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// The change certainly increases the rate.
    Helps,
    /// The interval includes "no change", or there is only one repeat.
    NotShown,
    /// The change certainly decreases the rate.
    Costs,
    /// One of its cells has no figures, or failed requests.
    NotMeasured,
}

impl Worth {
    /// Judges a gain; `floor` is how much one server differs from itself.
    #[must_use]
    pub fn of(gain: Option<&Gain>, floor: f64) -> Self {
        match gain.map(|gain| Change::of(&gain.ratio, floor)) {
            Some(Change::More) => Self::Helps,
            Some(Change::Less) => Self::Costs,
            Some(Change::NotShown) => Self::NotShown,
            None => Self::NotMeasured,
        }
    }

    /// Returns the conclusion as a word or two.
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

/// Returns every piece of advice with its gain: first changes that help, the largest gain first, then those that show no
/// difference, then those that cost.
#[must_use]
pub(crate) fn gains(run: &Run) -> Vec<(&Advice, Option<Gain>)> {
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    let mut all: Vec<_> = run.advice.iter().map(|one| (one, gain(run, one))).collect();
    let ratio = |gain: &Option<Gain>| gain.as_ref().map_or(0.0, |gain| gain.ratio.value);
    all.sort_by(|(_, a), (_, b)| {
        let worth = |gain: &Option<Gain>| Worth::of(gain.as_ref(), floor);
        worth(a).cmp(&worth(b)).then(ratio(b).total_cmp(&ratio(a)))
    });
    all
}
