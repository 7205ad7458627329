//! The curves of a sweep: the rate of each runtime and variant over the number on the axis.

use crate::cell::Metric;
use crate::usl::{self, Fit};
use crate::{Run, Scenario};

/// Numbers on the axis, each with the rates of its repeats.
pub type Points = Vec<(f64, Vec<f64>)>;

/// The curve of a runtime and variant.
#[derive(Clone, Debug)]
pub struct Curve {
    /// `id` of the runtime.
    pub runtime: String,
    /// Variant.
    pub variant: String,
    /// The measured points, in the order of the axis.
    pub points: Points,
    /// The fitted scaling law.
    pub fit: Option<Fit>,
    /// The smallest number that is not shown to be worse than the best.
    pub recommended: Option<f64>,
}

/// Returns the points of one curve. Repeats are in the order of their blocks, so that those of two points form pairs.
#[must_use]
pub(crate) fn points(scenario: &Scenario, runtime: &str, variant: &str) -> Points {
    let mut points: Points = scenario
        .cells
        .iter()
        .filter(|cell| cell.runtime == runtime && cell.variant == variant)
        .filter_map(|cell| {
            let mut samples = cell.samples(&Metric::Goodput);
            samples.sort_by_key(|(block, _)| *block);
            let rates: Vec<f64> = samples.into_iter().map(|(_, rate)| rate).collect();
            (!rates.is_empty()).then_some((cell.x?, rates))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Returns every curve of a scenario; none if the scenario is no sweep.
#[must_use]
pub(crate) fn curves(run: &Run, scenario: &Scenario) -> Vec<Curve> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for cell in scenario.cells.iter().filter(|cell| cell.x.is_some()) {
        let name = (cell.runtime.as_str(), cell.variant.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    names
        .into_iter()
        .map(|(runtime, variant)| {
            let points = points(scenario, runtime, variant);
            Curve {
                runtime: runtime.to_owned(),
                variant: variant.to_owned(),
                fit: usl::fit(&points),
                recommended: usl::recommended(&points, floor),
                points,
            }
        })
        .filter(|curve| !curve.points.is_empty())
        .collect()
}
