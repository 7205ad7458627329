//! The checks of claims: two cells compared, a figure between bounds, the best number of a sweep, the limit of a cell.

use super::Answer;
use super::selector::{Selector, missing, name, of, place};
use crate::cell::Metric;
use crate::stats::{Basis, Estimate};
use crate::words::{interval, times, value};
use crate::{Cell, Run, usl};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compare {
    metric: String,
    pub(super) base: Selector,
    pub(super) with: Selector,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Absolute {
    metric: String,
    pub(super) of: Selector,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bounds {
    pub(super) of: Selector,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    pub(super) of: Selector,
    holds: String,
}

impl Compare {
    pub(super) fn answer(&self, run: &Run) -> Result<(String, Answer), String> {
        let metric = Metric::named(&self.metric).ok_or("unknown metric")?;
        let (scenario, base) = self.base.cell(run)?;
        let (other, with) = self.with.cell(run)?;
        let paired = scenario.name == other.name;
        let figure = |cell: &Cell| cell.figure(&metric).ok_or_else(|| missing(run, cell));
        let (low, high) = (figure(base)?, figure(with)?);
        let ratio = with
            .ratio_to(base, &metric, paired)
            .ok_or_else(|| missing(run, with))?;
        let text = match scenario.name == other.name {
            true => format!(
                "{}: {} {} → {}: {} ({}); {}",
                name(run, base),
                value(&metric, low.value),
                failures(base),
                name(run, with),
                value(&metric, high.value),
                times(&ratio),
                of(scenario),
            ),
            false => format!(
                "{}: {} {} → {}: {} ({})",
                place(run, scenario, base),
                value(&metric, low.value),
                failures(base),
                place(run, other, with),
                value(&metric, high.value),
                times(&ratio),
            ),
        };
        // A figure that was read back is exact, and needs no repeats.
        let answer = match metric {
            Metric::Observed(_) => within(&ratio, self.min, self.max),
            _ => ratio_answer(&ratio, self.min, self.max),
        };
        Ok((tidy(&text), answer))
    }
}

impl Absolute {
    pub(super) fn answer(&self, run: &Run) -> Result<(String, Answer), String> {
        let metric = Metric::named(&self.metric).ok_or("unknown metric")?;
        let (scenario, cell) = self.of.cell(run)?;
        let found = cell.figure(&metric).ok_or_else(|| missing(run, cell))?;
        let text = format!(
            "{}: {}, {}",
            place(run, scenario, cell),
            metric.label(),
            interval(&metric, &found),
        );
        Ok((text, within(&found, self.min, self.max)))
    }
}

impl Bounds {
    pub(super) fn answer(&self, run: &Run) -> Result<(String, Answer), String> {
        let (scenario, cell) = self.of.cell(run)?;
        let points = crate::sweep::points(scenario, &cell.runtime, &cell.variant);
        let floor = run.noise.aa_floor.unwrap_or(0.0);
        let best = usl::recommended(&points, floor).ok_or_else(|| missing(run, cell))?;
        let share = best / run.host.processors.max(1) as f64;
        let measured: Vec<String> = points.iter().map(|(x, _)| format!("{x}")).collect();
        let text = format!(
            "{}: {best} of {} are enough, on {} processors",
            place(run, scenario, cell),
            measured.join(", "),
            run.host.processors
        );
        let holds =
            self.min.is_none_or(|min| share >= min) && self.max.is_none_or(|max| share <= max);
        let enough = points.len() >= 3;
        Ok((
            text,
            match (enough, holds) {
                (false, _) => Answer::NotShown,
                (true, true) => Answer::Agrees,
                (true, false) => Answer::Differs,
            },
        ))
    }
}

impl Limit {
    pub(super) fn answer(&self, run: &Run) -> Result<(String, Answer), String> {
        let (scenario, cell) = self.of.cell(run)?;
        let limit = cell.limit.as_deref().ok_or_else(|| missing(run, cell))?;
        let answer = if limit.contains(&self.holds) && !limit.contains("load generator") {
            Answer::Agrees
        } else {
            Answer::Differs
        };
        Ok((format!("{}: {limit}", place(run, scenario, cell)), answer))
    }
}

/// Judges a ratio: an interval on one side of a bound decides; a single repeat decides nothing.
fn ratio_answer(ratio: &Estimate, min: Option<f64>, max: Option<f64>) -> Answer {
    if ratio.basis == Basis::Single {
        Answer::NotShown
    } else {
        within(ratio, min, max)
    }
}

fn within(found: &Estimate, min: Option<f64>, max: Option<f64>) -> Answer {
    let (min, max) = (min.unwrap_or(f64::MIN), max.unwrap_or(f64::MAX));
    if found.low >= min && found.high <= max {
        Answer::Agrees
    } else if found.high < min || found.low > max {
        Answer::Differs
    } else {
        Answer::NotShown
    }
}

fn failures(cell: &Cell) -> String {
    let (failed, all) = cell.failures();
    if failed == 0 {
        return String::new();
    }
    format!(
        "with {} of {} failed",
        measure::text::count(failed),
        measure::text::count(all)
    )
}

fn tidy(text: &str) -> String {
    text.replace("  →", " →")
}
