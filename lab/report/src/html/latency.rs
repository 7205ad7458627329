//! Latency by percentile: the whole distribution, including its tail, on logarithmic axes.

use super::plot::{Axis, frame, keys, polyline};
use crate::{Cell, Column, Run, Scenario};
use maud::{Markup, html};
use measure::text::duration;

/// The percentiles that are drawn; below them, those that the axis names.
const DRAWN: [f64; 19] = [
    0.0, 10.0, 25.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 93.0, 95.0, 97.0, 98.0, 99.0,
    99.5, 99.9, 99.99,
];
const NAMED: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];
/// The fewest samples above a percentile for which it is drawn.
const ENOUGH: u64 = 5;

/// Renders one line per fairly configured cell.
pub(super) fn percentiles(run: &Run, scenario: &Scenario) -> Markup {
    let cells: Vec<(&Cell, Vec<(f64, f64)>)> = scenario
        .cells
        .iter()
        .filter(|cell| cell.column == Column::Fair)
        .map(|cell| (cell, spectrum(cell)))
        .filter(|(_, points)| points.len() >= 2)
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    let values = || {
        cells
            .iter()
            .flat_map(|(_, points)| points)
            .map(|(_, nanos)| *nanos)
    };
    let y = Axis::logarithmic(
        values().fold(f64::MAX, f64::min),
        values().fold(0.0, f64::max) * 1.1,
    );
    let x_words: Vec<(f64, String)> = NAMED
        .iter()
        .map(|percent| (place(*percent), format!("{percent} %")))
        .collect();
    let y_words = y.words(duration);
    let figures: String = cells
        .iter()
        .map(|(cell, points)| {
            let at = |(percent, nanos): &(f64, f64)| (place(*percent), y.share(*nanos));
            polyline(scenario, cell, points.iter().map(at).collect())
        })
        .collect();
    html! {
        figure.lines {
            figcaption { "Latency by percentile" span.better { "less is better" } }
            (frame(&x_words, &y_words, "share of requests that took no longer; with all connections busy, so at saturation", "latency by percentile", &figures))
            (keys(run, scenario, &cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>()))
        }
    }
}

/// Returns percentiles and latencies in nanoseconds, as far as there are enough samples.
fn spectrum(cell: &Cell) -> Vec<(f64, f64)> {
    let all = cell.latency();
    if all.is_empty() {
        return Vec::new();
    }
    DRAWN
        .iter()
        .filter(|percent| all.samples_above(**percent) >= ENOUGH)
        .map(|percent| (*percent, all.percentile(*percent).max(1) as f64))
        .collect()
}

/// Returns the position of a percentile on the axis, where each nine has the same width.
fn place(percent: f64) -> f64 {
    (1.0 - percent / 100.0).max(1e-9).log10() / -4.0
}
