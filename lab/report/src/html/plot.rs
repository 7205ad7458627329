//! Line charts: sweeps with the fitted scaling law, and rates over time.

use super::colour;
use crate::stats::estimate;
use crate::sweep::{Curve, curves};
use crate::words::runtime_name;
use crate::{Cell, Column, Run, Scenario};
use maud::{Markup, PreEscaped, html};
use measure::text::rate;

/// The drawing's own units; the drawing is stretched to the available space, its strokes are not.
const SIZE: f64 = 1000.0;

/// An axis that converts figures into shares of the drawing.
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// Returns an axis from `low` to `high` with equal steps.
    pub(super) fn linear(low: f64, high: f64) -> Self {
        let high = if high.is_finite() && high > low {
            high
        } else {
            low + 1.0
        };
        Self {
            low,
            high,
            logarithmic: false,
        }
    }

    /// Returns an axis from `low` to `high` with equal factors.
    pub(super) fn logarithmic(low: f64, high: f64) -> Self {
        let low = low.max(1e-9);
        let high = if high.is_finite() {
            high.max(low * 2.0)
        } else {
            low * 2.0
        };
        Self {
            low,
            high,
            logarithmic: true,
        }
    }

    /// Returns the position of a figure as a share of the axis.
    pub(super) fn share(&self, figure: f64) -> f64 {
        let share = if self.logarithmic {
            (figure.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (figure - self.low) / (self.high - self.low)
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Returns round figures on the axis: their positions and labels.
    pub(super) fn words(&self, word: impl Fn(f64) -> String) -> Vec<(f64, String)> {
        let ticks = self.ticks();
        let words = ticks.iter().map(|tick| (self.share(*tick), word(*tick)));
        words.collect()
    }

    /// Returns round figures on the axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return ticks(self.low, self.high, 4);
        }
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001)
            .collect()
    }
}

/// Returns about `wanted` round figures between `low` and `high`.
pub(super) fn ticks(low: f64, high: f64, wanted: u32) -> Vec<f64> {
    let rough = (high - low) / f64::from(wanted);
    if !rough.is_finite() || rough <= 0.0 {
        return vec![low];
    }
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= rough * 0.999);
    let step = factor.unwrap_or(10.0) * power;
    let first = (low / step).ceil() as i64;
    (first..)
        .map(|n| n as f64 * step)
        .take_while(|tick| *tick <= high * 1.0001)
        .take(20)
        .collect()
}

/// Renders a drawing with its axes; `figures` are SVG in [`SIZE`] units.
pub(super) fn frame(
    x: &[(f64, String)],
    y: &[(f64, String)],
    unit: &str,
    what: &str,
    figures: &str,
) -> Markup {
    html! {
        div.plot {
            @for (share, words) in y { span.y style={ "top:" (format!("{:.2}%", 100.0 - share * 100.0)) } { (words) } }
            svg viewBox={ "0 0 " (SIZE) " " (SIZE) } preserveAspectRatio="none" role="img" aria-label=(what) {
                @for (share, _) in y { line.grid x1="0" x2=(SIZE) y1=(number(SIZE - share * SIZE)) y2=(number(SIZE - share * SIZE)) {} }
                (PreEscaped(figures))
            }
            @for (share, words) in x { span.x.last[*share > 0.95] style={ "left:" (format!("{:.2}%", share * 100.0)) } { (words) } }
        }
        p.unit { (unit) }
    }
}

/// Returns a line through points given as shares of both axes, as SVG. `class` is not escaped: it must be a constant of
/// this program.
pub(super) fn line(class: &str, points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{},{}", number(x * SIZE), number(SIZE - y * SIZE)))
        .collect();
    format!(
        "<polyline class=\"{class}\" points=\"{}\"/>",
        points.join(" ")
    )
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// Renders the rate over workers or connections: medians with intervals, the fitted law dashed, the recommended number
/// marked.
pub(super) fn sweep(run: &Run, scenario: &Scenario) -> Markup {
    let curves = curves(run, scenario);
    let axis = scenario.axis.as_deref().unwrap_or("x");
    let mut variants: Vec<&str> = curves.iter().map(|curve| curve.variant.as_str()).collect();
    variants.dedup();
    variants.sort_unstable();
    variants.dedup();
    html! {
        @for variant in variants {
            (sweep_figure(run, axis, variant, &curves.iter().filter(|curve| curve.variant == variant).collect::<Vec<_>>()))
        }
    }
}

fn sweep_figure(run: &Run, axis: &str, variant: &str, curves: &[&Curve]) -> Markup {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let low = all().map(|(x, _)| *x).fold(f64::MAX, f64::min);
    let high = all().map(|(x, _)| *x).fold(0.0, f64::max);
    let top = all()
        .flat_map(|(_, rates)| rates)
        .copied()
        .fold(0.0, f64::max);
    let x = if high / low.max(1e-9) >= 8.0 {
        Axis::logarithmic(low, high)
    } else {
        Axis::linear(low, high)
    };
    let y = Axis::linear(0.0, top * 1.08);
    let mut places: Vec<f64> = all().map(|(x, _)| *x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let x_words: Vec<(f64, String)> = places
        .iter()
        .map(|place| (x.share(*place), format!("{place}")))
        .collect();
    let y_words = y.words(whole);
    let figures: String = curves
        .iter()
        .map(|curve| curve_svg(curve, &x, &y))
        .collect();
    html! {
        figure.lines {
            figcaption { "Good responses per second by number of " (axis) @if !variant.is_empty() { ", " (variant) } span.better { "more is better" } }
            (frame(&x_words, &y_words, axis, &format!("rate by number of {axis}"), &figures))
            ul.keys { @for curve in curves { li class=(colour(&curve.runtime)) { i.key {} b { (runtime_name(run, &curve.runtime)) } ": " (curve_words(curve, axis)) } } }
        }
    }
}

fn curve_svg(curve: &Curve, x: &Axis, y: &Axis) -> String {
    let mut svg = format!("<g class=\"{}\">", colour(&curve.runtime));
    let points: Vec<(f64, f64)> = curve
        .points
        .iter()
        .map(|(n, rates)| (x.share(*n), y.share(measure::stats::median(rates))))
        .collect();
    svg += &line("line", &points);
    for ((n, rates), (at, middle)) in curve.points.iter().zip(&points) {
        if let Some(found) = estimate(rates) {
            let place = x.share(*n);
            svg += &line(
                "error",
                &[(place, y.share(found.low)), (place, y.share(found.high))],
            );
        }
        svg += &line("point", &[(*at, *middle), (*at, *middle)]);
    }
    if let Some(fit) = &curve.fit {
        let steps: Vec<(f64, f64)> = (0..=60_u32)
            .map(|step| x.low + (x.high - x.low) * (f64::from(step) / 60.0).powi(2))
            .map(|n| (x.share(n), y.share(fit.at(n))))
            .collect();
        svg += &line("fit", &steps);
    }
    if let Some(best) = curve.recommended {
        svg += &line("best", &[(x.share(best), 0.0), (x.share(best), 1.0)]);
    }
    svg + "</g>"
}

/// Returns a curve's recommendation and its scaling law, as text.
fn curve_words(curve: &Curve, axis: &str) -> String {
    let mut text = curve
        .recommended
        .map_or_else(String::new, |best| format!("{best} {axis} are enough"));
    match &curve.fit {
        Some(fit) => {
            text += &format!(
                "; scaling law σ = {:.3}, κ = {:.5}, R² = {:.2}",
                fit.sigma, fit.kappa, fit.r2
            );
            text += &fit.best.map_or_else(
                || ", still rising at the end".to_owned(),
                |(best, low, high)| format!(", highest at {best:.1} [{low:.1}–{high:.1}]"),
            );
        }
        None => text += &format!("; too few numbers of {axis} for a scaling law"),
    }
    text
}

/// Returns the line of a cell, in the colour of its server.
pub(super) fn polyline(scenario: &Scenario, cell: &Cell, points: Vec<(f64, f64)>) -> String {
    format!(
        "<g class=\"{}\">{}</g>",
        colour(&cell.runtime),
        line(&dash(scenario, cell), &points)
    )
}

/// Renders the rate over time, for each cell in the repeat with the median rate.
pub(super) fn timeline(run: &Run, scenario: &Scenario) -> Markup {
    let shown: Vec<(&Cell, &measure::Run)> = scenario
        .cells
        .iter()
        .filter(|cell| cell.column == Column::Fair)
        .filter_map(|cell| Some((cell, middle(cell)?)))
        .filter(|(_, load)| load.series.len() >= 2)
        .collect();
    if shown.is_empty() {
        return html! {};
    }
    let series = || shown.iter().flat_map(|(_, load)| &load.series);
    let end = series()
        .map(|point| point.at_s + point.length_s)
        .fold(0.0, f64::max);
    let top = series().map(|point| point.goodput).fold(0.0, f64::max);
    let (x, y) = (Axis::linear(0.0, end), Axis::linear(0.0, top * 1.08));
    let x_words = x.words(|tick| format!("{tick}"));
    let y_words = y.words(whole);
    let point = |point: &measure::Point| {
        let middle = point.at_s + point.length_s / 2.0;
        (x.share(middle), y.share(point.goodput))
    };
    let figures: String = shown
        .iter()
        .map(|(cell, load)| polyline(scenario, cell, load.series.iter().map(point).collect()))
        .collect();
    html! {
        figure.lines {
            figcaption { "Good responses per second over time, median repeat" }
            (frame(&x_words, &y_words, "seconds", "rate over time", &figures))
            (keys(run, scenario, &shown.iter().map(|(cell, _)| *cell).collect::<Vec<_>>()))
        }
    }
}

/// Returns the load run of the repeat with the median rate.
pub(super) fn middle(cell: &Cell) -> Option<&measure::Run> {
    let mut repeats: Vec<_> = cell.repeats.iter().collect();
    repeats.sort_by(|a, b| a.load.rates.goodput.total_cmp(&b.load.rates.goodput));
    Some(&repeats.get(repeats.len() / 2)?.load)
}

/// Returns the stroke class of a cell's line: variants of one runtime differ in their dashes.
pub(super) fn dash(scenario: &Scenario, cell: &Cell) -> String {
    let mut variants: Vec<&str> = Vec::new();
    for other in scenario
        .cells
        .iter()
        .filter(|other| other.runtime == cell.runtime)
    {
        if !variants.contains(&other.variant.as_str()) {
            variants.push(&other.variant);
        }
    }
    let index = variants
        .iter()
        .position(|variant| *variant == cell.variant)
        .unwrap_or(0);
    format!("line d{}", index % 5)
}

/// Formats a rate for an axis.
fn whole(figure: f64) -> String {
    if figure == 0.0 {
        "0".to_owned()
    } else {
        rate(figure)
    }
}

/// Renders the key of the lines.
pub(super) fn keys(run: &Run, scenario: &Scenario, cells: &[&Cell]) -> Markup {
    html! {
        ul.keys.inline {
            @for cell in cells {
                li class=(colour(&cell.runtime)) {
                    svg.stroke width="26" height="8" aria-hidden="true" { line class=(dash(scenario, cell)) x1="0" x2="26" y1="4" y2="4" {} }
                    (runtime_name(run, &cell.runtime)) @if !cell.variant.is_empty() { ", " (cell.variant) }
                }
            }
        }
    }
}
