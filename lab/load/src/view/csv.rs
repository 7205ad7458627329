//! The time series as CSV.

use measure::Run;
use std::fmt::Write as _;

/// Renders one line per stretch of every run.
pub(crate) fn series(runs: &[Run]) -> String {
    let mut out = String::from(
        "run,at_s,length_s,rate,goodput,failed,in_flight,bytes_per_s,count,p50_us,p90_us,p99_us,max_us\n",
    );
    for (index, run) in runs.iter().enumerate() {
        for point in &run.series {
            let us = |percentile: f64| point.latency.percentile(percentile) as f64 / 1e3;
            let _ = writeln!(
                out,
                "{index},{:.3},{:.3},{:.2},{:.2},{},{:.2},{:.0},{},{:.1},{:.1},{:.1},{:.1}",
                point.at_s,
                point.length_s,
                point.rate,
                point.goodput,
                point.failed,
                point.in_flight,
                point.bytes_per_s,
                point.latency.count(),
                us(50.0),
                us(90.0),
                us(99.0),
                point.latency.max() as f64 / 1e3,
            );
        }
    }
    out
}
