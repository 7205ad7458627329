//! Compares two results: what changed, how certain that is, and when a comparison is refused.
//!
//! Runs that differ in keep-alive, loop, target or concurrency measure different things; the comparison names the
//! differences and refuses. Differences have 95 % bootstrap intervals: over trials if there are several, else over the
//! seconds inside the run (which do not show what changes from run to run, and the result says so).

use crate::run::Run;
use crate::stats::{Interval, block_resample, bootstrap, mann_whitney, median};
use crate::{Distribution, stats};
use rand::Rng as _;
use rand::rngs::SmallRng;

/// The smallest change that counts; any below it is noise on any machine.
const SMALLEST: f64 = 0.02;
const ROUNDS: usize = 1_000;

/// A property in which two results differ although they should not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// The field name that `--across` takes to allow the difference.
    pub field: &'static str,
    /// Value in A.
    pub a: String,
    /// Value in B.
    pub b: String,
}

/// A quantity of both results.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the quantity.
    pub name: &'static str,
    /// Unit of `a` and `b`.
    pub unit: Unit,
    /// Value of A.
    pub a: f64,
    /// Value of B.
    pub b: f64,
    /// B / A with its interval; none if there are no samples to resample.
    pub ratio: Option<Interval>,
    /// Whether more of the quantity is better.
    pub more_is_better: bool,
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second.
    PerSecond,
    /// Nanoseconds.
    Nanos,
    /// Share of one.
    Share,
}

/// The conclusion that a row allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// The interval includes "no change", or the change is below 2 %.
    NoDifference,
    /// No interval.
    Unknown,
}

/// The comparison of two results.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Compared quantities.
    pub rows: Vec<Row>,
    /// Trials of A and of B.
    pub trials: (usize, usize),
    /// p of "same distribution" over the trials' goodput (exact Mann-Whitney), if both have at least 3.
    pub p: Option<f64>,
    /// Reasons to be careful with the comparison.
    pub cautions: Vec<String>,
}

/// Lists every difference that forbids a comparison, except those in `across`.
#[must_use]
pub fn unlike(a: &Run, b: &Run, across: &[String]) -> Vec<Unlike> {
    let mut found = Vec::new();
    let mut check = |field: &'static str, a: String, b: String| {
        if a != b && !across.iter().any(|allowed| allowed == field) {
            found.push(Unlike { field, a, b });
        }
    };
    let (x, y) = (&a.setup, &b.setup);
    check("keep-alive", x.keep_alive.words(), y.keep_alive.words());
    check(
        "loop",
        format!("{:?}", x.model).to_lowercase(),
        format!("{:?}", y.model).to_lowercase(),
    );
    check("target", x.target.clone(), y.target.clone());
    check("requests", mix(a), mix(b));
    check("http", x.http.clone(), y.http.clone());
    check("tls", x.tls.to_string(), y.tls.to_string());
    check(
        "connections",
        x.connections.to_string(),
        y.connections.to_string(),
    );
    check("streams", x.streams.to_string(), y.streams.to_string());
    check("rate", words(x.rate), words(y.rate));
    check(
        "think",
        x.think.clone().unwrap_or_default(),
        y.think.clone().unwrap_or_default(),
    );
    check("machine", machine(a), machine(b));
    found
}

fn mix(run: &Run) -> String {
    let entries: Vec<String> = run
        .setup
        .requests
        .iter()
        .map(|entry| format!("{} {:.3}", entry.request, entry.share))
        .collect();
    entries.join(", ")
}

fn words(rate: Option<f64>) -> String {
    rate.map_or_else(|| "none".into(), |rate| format!("{rate}/s"))
}

fn machine(run: &Run) -> String {
    format!(
        "{} ({} × {})",
        run.host.name, run.host.processors, run.host.processor
    )
}

/// Compares the trials of A with the trials of B. Both must be non-empty.
#[must_use]
pub fn compare(a: &[Run], b: &[Run]) -> Comparison {
    let several = a.len() >= 2 && b.len() >= 2;
    let mut rows = vec![goodput_row(a, b)];
    for (name, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)] {
        rows.push(latency_row(name, percent, a, b));
    }
    rows.extend(server_row(a, b));
    rows.push(Row {
        name: "failed",
        unit: Unit::Share,
        a: failed(a),
        b: failed(b),
        ratio: None,
        more_is_better: false,
    });
    let goodputs = |runs: &[Run]| runs.iter().map(|run| run.rates.goodput).collect::<Vec<_>>();
    let p = (a.len() >= 3 && b.len() >= 3).then(|| mann_whitney(&goodputs(a), &goodputs(b)));
    Comparison {
        rows,
        trials: (a.len(), b.len()),
        p,
        cautions: cautions(a, b, several),
    }
}

impl Row {
    /// Returns the conclusion that the row allows.
    #[must_use]
    pub fn word(&self) -> Word {
        let Some(ratio) = self.ratio else {
            return Word::Unknown;
        };
        if !ratio.excludes(1.0) || (ratio.value - 1.0).abs() < SMALLEST {
            return Word::NoDifference;
        }
        if (ratio.value > 1.0) == self.more_is_better {
            Word::Better
        } else {
            Word::Worse
        }
    }

    /// Returns whether B is worse than A by more than `share` at 95 %.
    #[must_use]
    pub fn regressed(&self, share: f64) -> bool {
        self.ratio.is_some_and(|ratio| {
            if self.more_is_better {
                ratio.high < 1.0 - share
            } else {
                ratio.low > 1.0 + share
            }
        })
    }
}

fn goodput_row(a: &[Run], b: &[Run]) -> Row {
    let centre =
        |runs: &[Run]| median(&runs.iter().map(|run| run.rates.goodput).collect::<Vec<_>>());
    let ratio = resampled(centre(a), centre(b), |rng| {
        (goodput_sample(a, rng), goodput_sample(b, rng))
    });
    let enough = [a, b]
        .iter()
        .all(|runs| runs.len() > 1 || runs[0].series.len() >= 3);
    Row {
        name: "goodput",
        unit: Unit::PerSecond,
        a: centre(a),
        b: centre(b),
        ratio: enough.then_some(ratio),
        more_is_better: true,
    }
}

fn resampled(a: f64, b: f64, mut draw: impl FnMut(&mut SmallRng) -> (f64, f64)) -> Interval {
    bootstrap(b / a.max(1e-12), ROUNDS, |rng| {
        let (a, b) = draw(rng);
        b / a.max(1e-12)
    })
}

fn goodput_sample(runs: &[Run], rng: &mut SmallRng) -> f64 {
    if let [run] = runs {
        let picked = block_resample(rng, run.series.len().max(1));
        let rates: Vec<f64> = picked
            .iter()
            .filter_map(|at| run.series.get(*at))
            .map(|point| point.goodput)
            .collect();
        return stats::mean(&rates);
    }
    let picked: Vec<f64> = runs
        .iter()
        .map(|_| runs[rng.random_range(0..runs.len())].rates.goodput)
        .collect();
    median(&picked)
}

/// The latency buckets of one side's stretches, or of its trials, as one sorted list.
struct Merged {
    /// Value, stretch, count.
    buckets: Vec<(u64, usize, u64)>,
    /// Samples of each stretch.
    totals: Vec<u64>,
}

impl Merged {
    fn new(runs: &[Run]) -> Self {
        let parts: Vec<Vec<(u64, u64)>> = if let [run] = runs {
            run.series
                .iter()
                .map(|point| point.latency.buckets())
                .collect()
        } else {
            runs.iter()
                .map(|run| run.headline_latency().buckets())
                .collect()
        };
        let number = |(part, buckets): (usize, &Vec<(u64, u64)>)| {
            buckets
                .iter()
                .map(|(value, count)| (*value, part, *count))
                .collect::<Vec<_>>()
        };
        let totals = parts
            .iter()
            .map(|part| part.iter().map(|(_, count)| count).sum())
            .collect();
        let mut buckets: Vec<_> = parts.iter().enumerate().flat_map(number).collect();
        buckets.sort_unstable();
        Self { buckets, totals }
    }

    /// Returns the percentile of a resample of whole stretches (percentiles are never averaged).
    fn sample(&self, percent: f64, rng: &mut SmallRng) -> f64 {
        let mut weights = vec![0_u64; self.totals.len()];
        for at in block_resample(rng, self.totals.len()) {
            weights[at] += 1;
        }
        let total: u64 = weights
            .iter()
            .zip(&self.totals)
            .map(|(weight, total)| weight * total)
            .sum();
        let rank = (total as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (value, part, count) in &self.buckets {
            seen += count * weights[*part];
            if seen >= rank {
                return *value as f64;
            }
        }
        0.0
    }
}

fn latency_row(name: &'static str, percent: f64, a: &[Run], b: &[Run]) -> Row {
    let whole = |runs: &[Run]| {
        let mut all = Distribution::new();
        runs.iter()
            .for_each(|run| all.merge(run.headline_latency()));
        all.percentile(percent) as f64
    };
    let (merged_a, merged_b) = (Merged::new(a), Merged::new(b));
    let enough =
        merged_a.totals.len() >= 3 && merged_b.totals.len() >= 3 || a.len() >= 2 && b.len() >= 2;
    let ratio = enough.then(|| {
        resampled(whole(a), whole(b), |rng| {
            (merged_a.sample(percent, rng), merged_b.sample(percent, rng))
        })
    });
    Row {
        name,
        unit: Unit::Nanos,
        a: whole(a),
        b: whole(b),
        ratio,
        more_is_better: false,
    }
}

fn server_row(a: &[Run], b: &[Run]) -> Option<Row> {
    let cost = |runs: &[Run]| -> Option<Vec<f64>> {
        runs.iter()
            .map(|run| {
                run.cpu
                    .server
                    .as_ref()
                    .map(|server| server.us_per_request * 1e3)
            })
            .collect()
    };
    let (x, y) = (cost(a)?, cost(b)?);
    let pick = |values: &[f64], rng: &mut SmallRng| {
        median(
            &values
                .iter()
                .map(|_| values[rng.random_range(0..values.len())])
                .collect::<Vec<_>>(),
        )
    };
    let ratio = (x.len() > 1 && y.len() > 1)
        .then(|| resampled(median(&x), median(&y), |rng| (pick(&x, rng), pick(&y, rng))));
    Some(Row {
        name: "server CPU/request",
        unit: Unit::Nanos,
        a: median(&x),
        b: median(&y),
        ratio,
        more_is_better: false,
    })
}

fn failed(runs: &[Run]) -> f64 {
    let (failed, all) = runs.iter().fold((0, 0), |(f, n), run| {
        (f + run.counts.failed, n + run.finished())
    });
    failed as f64 / all.max(1) as f64
}

fn cautions(a: &[Run], b: &[Run], several: bool) -> Vec<String> {
    let mut out = Vec::new();
    if !several {
        out.push("one run each: the intervals come from the seconds inside the runs and do not cover what changes from run to run; --repeat 6 does".into());
    } else if a.len() < 6 || b.len() < 6 {
        out.push(format!(
            "{} and {} trials: indicative only, a 95 % interval of a median wants 6",
            a.len(),
            b.len()
        ));
    }
    for (name, runs) in [("A", a), ("B", b)] {
        if failed(runs) > 0.001 {
            out.push(format!(
                "{name} failed {:.2} % of its requests: speed of a failing server",
                failed(runs) * 100.0
            ));
        }
        let mut ids: Vec<&str> = runs
            .iter()
            .flat_map(|run| &run.verdicts)
            .filter(|verdict| verdict.weight != crate::diagnose::Weight::Note)
            .map(|verdict| verdict.id.as_str())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        if !ids.is_empty() {
            out.push(format!("{name} carries warnings: {}", ids.join(" ")));
        }
    }
    out
}

#[cfg(test)]
mod tests;
