//! Figures as text: one format for a rate with its interval, a ratio, a cell's name.

use crate::cell::Metric;
use crate::stats::{Basis, Change, Estimate};
use crate::{Cell, Column, Run};
use measure::Distribution;
use measure::text::{bytes, duration, percent, rate};

/// Formats a figure with its unit.
#[must_use]
pub fn value(metric: &Metric, figure: f64) -> String {
    match metric {
        Metric::Goodput | Metric::PerCore => format!("{}/s", rate(figure)),
        Metric::Cpu => duration(figure * 1e3),
        Metric::P50 | Metric::P99 | Metric::Fastest | Metric::Longest => duration(figure * 1e6),
        Metric::Failed => percent(figure),
        Metric::Memory => bytes(figure),
        Metric::Observed(name) if name.ends_with("_bytes") => bytes(figure),
        Metric::Observed(_) => rate(figure),
    }
}

/// Formats a figure with its interval.
#[must_use]
pub fn interval(metric: &Metric, found: &Estimate) -> String {
    let own = value(metric, found.value);
    if found.basis == Basis::Single || found.low >= found.high {
        return own;
    }
    format!("{own} [{}]", ends(metric, found))
}

/// The factor between the ends of an interval beyond which the interval only shows that there are too few repeats.
const USELESS: f64 = 20.0;

/// Formats both ends of an interval, without repeating the unit.
#[must_use]
pub fn ends(metric: &Metric, found: &Estimate) -> String {
    if found.basis == Basis::Student && found.high > found.low * USELESS {
        return "too few repeats".to_owned();
    }
    let short = |figure: f64| match metric {
        Metric::Goodput | Metric::PerCore => rate(figure),
        _ => value(metric, figure),
    };
    format!("{}–{}", short(found.low), short(found.high))
}

/// Formats a ratio with its interval: `×1.23 [1.20–1.26]`.
#[must_use]
pub fn times(ratio: &Estimate) -> String {
    let own = format!("×{}", factor(ratio.value));
    if ratio.basis == Basis::Single {
        return format!("{own}, one repeat");
    }
    if ratio.basis == Basis::Student && ratio.high > ratio.low * USELESS {
        return format!("{own} [too few repeats]");
    }
    format!("{own} [{}–{}]", factor(ratio.low), factor(ratio.high))
}

/// Formats the conclusion that a ratio allows: `×1.23` or `no difference shown`.
#[must_use]
pub fn verdict(ratio: &Estimate, floor: f64) -> String {
    match Change::of(ratio, floor) {
        _ if ratio.basis == Basis::Single => times(ratio),
        Change::NotShown if ratio.high > ratio.low * USELESS => {
            "no difference shown: too few repeats".to_owned()
        }
        Change::NotShown => format!(
            "no difference shown ({} to {})",
            signed(ratio.low),
            signed(ratio.high)
        ),
        Change::More | Change::Less => times(ratio),
    }
}

/// Formats a rate's ratio in both units and directions: `+23 % req/s = −19 % time per request`.
#[must_use]
pub(crate) fn both_ways(ratio: f64) -> String {
    format!(
        "{} req/s = {} time per request",
        signed(ratio),
        signed(1.0 / ratio.max(1e-12))
    )
}

/// Formats a ratio as a change: `+23 %`.
#[must_use]
pub fn signed(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let size = change.abs();
    let sign = match change {
        _ if size < 0.05 => "±",
        fall if fall < 0.0 => "−",
        _ => "+",
    };
    if size >= 9.95 {
        format!("{sign}{size:.0} %")
    } else {
        format!("{sign}{size:.1} %")
    }
}

fn factor(ratio: f64) -> String {
    match ratio {
        large if large >= 99.5 => format!("{large:.0}"),
        middle if middle >= 9.95 => format!("{middle:.1}"),
        small if small >= 0.0995 => format!("{small:.2}"),
        tiny => format!("{tiny:.3}"),
    }
}

/// The fewest samples above a percentile for which it is shown.
const ENOUGH: u64 = 10;

/// Formats a percentile of latency; a dash if there are too few samples for it.
#[must_use]
pub fn percentile(latency: &Distribution, percent: f64) -> String {
    if latency.samples_above(percent) >= ENOUGH {
        duration(latency.percentile(percent) as f64)
    } else {
        "–".to_owned()
    }
}

/// Returns the name of a cell's runtime.
#[must_use]
pub(crate) fn runtime_name<'run>(run: &'run Run, id: &'run str) -> &'run str {
    run.runtime(id).map_or(id, |runtime| &runtime.name)
}

/// Returns a cell's name inside its scenario: runtime, variant, place on the axis, and whether it is configured as in the
/// write-up.
#[must_use]
pub(crate) fn cell_name(run: &Run, cell: &Cell) -> String {
    let mut name = runtime_name(run, &cell.runtime).to_owned();
    if !cell.variant.is_empty() {
        name += &format!(", {}", cell.variant);
    }
    if let Some(x) = cell.x {
        name += &format!(" × {x}");
    }
    if cell.column == Column::AsSeed {
        name += ", as in write-up";
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::estimate;

    #[test]
    fn ratios_have_their_unit_and_direction() {
        assert_eq!(both_ways(1.23), "+23 % req/s = −19 % time per request");
        assert_eq!(signed(0.978), "−2.2 %");
        assert_eq!(signed(0.9999), "±0.0 %");
        let ratio = estimate(&[1.2, 1.24, 1.25, 1.22, 1.24, 1.26]).unwrap();
        assert_eq!(times(&ratio), "×1.24 [1.20–1.26]");
        let none = estimate(&[0.99, 1.0, 1.01, 1.02, 0.98, 1.0]).unwrap();
        assert_eq!(
            verdict(&none, 0.0),
            "no difference shown (−2.0 % to +2.0 %)"
        );
        assert_eq!(times(&estimate(&[24.05]).unwrap()), "×24.1, one repeat");
    }

    #[test]
    fn figures_have_their_unit() {
        let rates = estimate(&[41210.0, 40600.0, 41900.0]).unwrap();
        assert!(interval(&Metric::Goodput, &rates).starts_with("41,210/s ["));
        assert_eq!(value(&Metric::P99, 5.61), "5.61 ms");
        assert_eq!(value(&Metric::Failed, 0.406), "40.6 %");
        let preload = Metric::named("observed:preload_memory_bytes").unwrap();
        assert_eq!(value(&preload, 17_430_000.0), "17.4 MB");
    }
}
