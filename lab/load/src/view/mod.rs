//! Printed results: the native summary, the layouts of ab and wrk, tables, the live line.

pub(crate) mod ab;
pub(crate) mod compare;
pub(crate) mod csv;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod wrk;

use crate::plan::Plan;
use crate::run::Live;
use measure::text::{count, duration, rate};

/// The amount of output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Few lines.
    pub(crate) brief: bool,
    /// Every step of the latency spectrum.
    pub(crate) spectrum: bool,
}

/// Renders the live line.
pub(crate) fn progress(plan: &Plan, now: &Live) -> String {
    let phase = if now.warming { "warm-up" } else { "measure" };
    let end = plan
        .duration
        .filter(|_| !now.warming)
        .map_or_else(String::new, |length| {
            format!("/{:.0}", length.as_secs_f64())
        });
    let mut line = format!(
        "{phase} {:.0}{end} s  {}/s  p50 {}  p99 {}  max {}  in flight {:.0}",
        now.elapsed_s,
        rate(now.rate),
        duration(now.p50 as f64),
        duration(now.p99 as f64),
        duration(now.max as f64),
        now.in_flight,
    );
    if now.failed > 0 {
        line += &format!("  FAILED {}", count(now.failed));
    }
    line
}
