//! What a change to the user's app is worth, from the two cells that show it.

use crate::cell::Metric;
use crate::stats::Estimate;
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
