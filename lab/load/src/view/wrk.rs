//! wrk's and wrk2's layout, line by line, with notes where their formulas mislead.

use crate::plan::Plan;
use measure::diagnose::Weight;
use measure::{Distribution, ErrorClass, Run};
use std::fmt::Write as _;
use std::time::Duration;

/// The parts of the output to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) latency: bool,
    pub(crate) uncorrected: bool,
    pub(crate) notes: bool,
    pub(crate) wrk2: bool,
    /// The time after which a response counts as one of wrk's time-outs.
    pub(crate) timeout: Duration,
}

/// Renders the lines that are printed before the run.
pub(crate) fn header(plan: &Plan) -> String {
    let length = time_units(plan.duration.map_or(0.0, |length| length.as_secs_f64()));
    format!(
        "Running {length} test @ {}\n  {} threads and {} connections\n",
        plan.target.url, plan.threads, plan.connections
    )
}

/// Renders a run as wrk does.
pub(crate) fn render(run: &Run, options: Options) -> String {
    let mut out = String::from("  Thread Stats   Avg      Stdev     Max   +/- Stdev\n");
    let latency = if options.wrk2 {
        run.headline_latency()
    } else {
        &run.latency.processing
    };
    stats(&mut out, "Latency", latency, |nanos| micros(nanos / 1e3));
    stats(&mut out, "Req/Sec", &run.thread_rates, metric);
    if options.latency && options.wrk2 {
        out.push_str("  Latency Distribution (HdrHistogram - Recorded Latency)\n");
        distribution(
            &mut out,
            latency,
            &[50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0],
        );
        spectrum(&mut out, latency);
    } else if options.latency {
        out.push_str("  Latency Distribution\n");
        distribution(&mut out, latency, &[50.0, 75.0, 90.0, 99.0]);
    }
    if options.uncorrected {
        out.push_str("  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))\n");
        distribution(
            &mut out,
            &run.latency.service,
            &[50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0],
        );
    }
    totals(&mut out, run, options);
    if options.notes {
        notes(&mut out, run, options);
    }
    out
}

fn stats(out: &mut String, name: &str, all: &Distribution, format: impl Fn(f64) -> String) {
    let _ = write!(out, "    {name:<10}");
    for (value, width) in [(all.mean(), 8), (all.stdev(), 10), (all.max() as f64, 9)] {
        out.push_str(&padded(&format(value), width));
    }
    let _ = writeln!(out, "{:>8.2}%", all.share_within_stdev() * 100.0);
}

/// Aligns the digits and lets the unit hang over, as wrk does.
fn padded(text: &str, width: usize) -> String {
    let letters = text
        .chars()
        .rev()
        .take(2)
        .filter(char::is_ascii_alphabetic)
        .count();
    format!(
        "{text:>width$}{:pad$}",
        "",
        width = width - (2 - letters),
        pad = 2 - letters
    )
}

fn distribution(out: &mut String, all: &Distribution, percentiles: &[f64]) {
    for percentile in percentiles {
        let text = micros(all.percentile(*percentile) as f64 / 1e3);
        let shown = if percentile.fract() == 0.0 && percentiles.len() == 4 {
            format!("{percentile:>7.0}%")
        } else {
            format!("{percentile:>7.3}%")
        };
        let _ = writeln!(out, "{shown} {}", padded(&text, 9));
    }
}

fn spectrum(out: &mut String, all: &Distribution) {
    out.push_str("\n  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n");
    let mut share = 0.0_f64;
    let total = all.count();
    while total > 0 && (1.0 - share) * total as f64 >= 0.5 {
        let value = all.percentile(share * 100.0);
        let _ = writeln!(
            out,
            "{:>12.3} {share:>14.6} {:>10} {:>14.2}",
            value as f64 / 1e6,
            all.count_between(0, value),
            1.0 / (1.0 - share)
        );
        share += (1.0 - share) / 2.0;
    }
    let _ = writeln!(
        out,
        "{:>12.3} {:>14.6} {total:>10} {:>14}",
        all.max() as f64 / 1e6,
        1.0,
        "inf"
    );
    let _ = writeln!(
        out,
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]",
        all.mean() / 1e6,
        all.stdev() / 1e6
    );
    let _ = writeln!(
        out,
        "#[Max     = {:>12.3}, Total count    = {total:>12}]",
        all.max() as f64 / 1e6
    );
}

fn totals(out: &mut String, run: &Run, options: Options) {
    let received = (run.bytes.head + run.bytes.body) as f64;
    let _ = writeln!(
        out,
        "  {} requests in {}, {}B read",
        run.counts.responses,
        micros(run.elapsed_s * 1e6),
        binary(received)
    );
    socket_errors(out, run, options);
    let bad: u64 = run.statuses.range(400..).map(|(_, times)| times).sum();
    if bad > 0 {
        let _ = writeln!(out, "  Non-2xx or 3xx responses: {bad}");
    }
    let _ = writeln!(
        out,
        "Requests/sec: {:>9.2}",
        run.counts.responses as f64 / run.elapsed_s
    );
    let _ = writeln!(
        out,
        "Transfer/sec: {:>10}B",
        binary(received / run.elapsed_s)
    );
}

fn socket_errors(out: &mut String, run: &Run, options: Options) {
    let connect = run.connect_errors() - run.errors_of(&[ErrorClass::ConnectTimeout]);
    let timeout =
        run.errors_of(&[ErrorClass::Timeout, ErrorClass::ConnectTimeout]) + late(run, options);
    let read = run.errors_of(&[
        ErrorClass::ResetBeforeFirstByte,
        ErrorClass::ResetMidBody,
        ErrorClass::EarlyEof,
        ErrorClass::Truncated,
        ErrorClass::BadFraming,
        ErrorClass::Tls,
    ]);
    let write = run.errors_of(&[ErrorClass::Write]);
    if connect + read + write + timeout > 0 {
        let _ = writeln!(
            out,
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}"
        );
    }
}

/// Returns the number of responses that arrived after wrk's time-out.
fn late(run: &Run, options: Options) -> u64 {
    let limit = u64::try_from(options.timeout.as_nanos()).unwrap_or(u64::MAX);
    run.latency.processing.count_between(limit, u64::MAX)
}

fn notes(out: &mut String, run: &Run, options: Options) {
    let mut notes = Vec::new();
    if !options.wrk2 {
        notes.push("latency is what each request took; wrk itself back-fills invented samples after a stall (stats_correct), so its percentiles can be far higher. What users wait: native -r RATE, or --as wrk2".to_owned());
    }
    if run.counts.failed > 0 {
        notes.push(format!(
            "\"Requests/sec\" counts error responses; goodput is {:.2} per second",
            run.rates.goodput
        ));
    }
    if late(run, options) > 0 {
        notes.push(format!(
            "{} answers came after {} s; wrk leaves them out of its latencies, here they are in",
            late(run, options),
            options.timeout.as_secs_f64()
        ));
    }
    if run.counts.unfinished > 0 {
        notes.push(format!(
            "{} requests had no answer at the end; wrk would not mention them",
            run.counts.unfinished
        ));
    }
    for verdict in run
        .verdicts
        .iter()
        .filter(|verdict| verdict.weight > Weight::Note)
    {
        notes.push(format!(
            "{} {}: {}",
            verdict.id, verdict.title, verdict.evidence
        ));
    }
    for note in notes {
        let _ = writeln!(out, "note: {note}");
    }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut at) = (value, 0);
    while value >= step && at + 1 < units.len() {
        value /= step;
        at += 1;
    }
    format!("{value:.2}{}", units[at])
}

/// Renders microseconds as wrk does.
fn micros(value: f64) -> String {
    if value >= 1e6 {
        time_units_precise(value / 1e6)
    } else {
        scaled(value, 1_000.0, &["us", "ms"])
    }
}

fn time_units_precise(seconds: f64) -> String {
    scaled(seconds, 60.0, &["s", "m", "h"])
}

fn time_units(seconds: f64) -> String {
    let text = time_units_precise(seconds);
    match text.find('.') {
        Some(dot) if text[dot..].starts_with(".00") => {
            format!("{}{}", &text[..dot], &text[dot + 3..])
        }
        _ => text,
    }
}

fn metric(value: f64) -> String {
    scaled(value, 1_000.0, &["", "k", "M", "G"])
}

fn binary(value: f64) -> String {
    scaled(value, 1_024.0, &["", "K", "M", "G", "T"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_as_wrk_prints_them() {
        assert_eq!(micros(238_480.0), "238.48ms");
        assert_eq!(micros(3_060_000.0), "3.06s");
        assert_eq!(micros(12.5), "12.50us");
        assert_eq!(metric(5_050.0), "5.05k");
        assert_eq!(binary(66.59 * 1024.0), "66.59K");
        assert_eq!(time_units(10.0), "10s");
        assert_eq!(time_units(120.0), "2m");
        assert_eq!(padded("238.48ms", 8), "238.48ms");
        assert_eq!(padded("55.56", 8), " 55.56  ");
    }
}
