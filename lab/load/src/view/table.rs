//! Several runs in one table: a sweep, or repetitions.

use measure::diagnose::Weight;
use measure::text::{count, duration, rate};
use measure::{LoopModel, Run, stats};
use std::fmt::Write as _;

/// Renders one line per run; marks the best and names the knee.
pub(crate) fn sweep(runs: &[Run]) -> String {
    let open = runs.iter().any(|run| run.setup.model == LoopModel::Open);
    let latency = if open {
        "response time"
    } else {
        "service time"
    };
    let mut out = format!(
        "\n{:>11} {:>10} {:>12} {:>9} {:>10} {:>10} {:>10} {:>11}  doubts\n",
        "connections", "rate", "goodput/s", "failed", "p50", "p99", "max", "client CPU"
    );
    let best = runs.iter().map(|run| run.rates.goodput).fold(0.0, f64::max);
    for run in runs {
        let all = run.headline_latency();
        let doubts: Vec<&str> = run
            .verdicts
            .iter()
            .filter(|verdict| verdict.weight > Weight::Note)
            .map(|verdict| verdict.id.as_str())
            .collect();
        let mark = if best > 0.0 && run.rates.goodput >= best {
            "*"
        } else {
            " "
        };
        let _ = writeln!(
            out,
            "{:>11} {:>10} {:>11}{mark} {:>9} {:>10} {:>10} {:>10} {:>11}  {}",
            run.setup.connections,
            run.setup.rate.map_or_else(|| "closed".into(), rate),
            rate(run.rates.goodput),
            count(run.counts.failed),
            shown(all.percentile(50.0)),
            shown(all.percentile(99.0)),
            shown(all.max()),
            duration(run.cpu.client_us_per_request * 1e3),
            doubts.join(" "),
        );
    }
    let _ = writeln!(out, "latencies are {latency}; * is the highest goodput");
    summarise(&mut out, runs);
    out
}

/// Renders a duration, or a dash if nothing was measured.
fn shown(nanos: u64) -> String {
    if nanos == 0 {
        "–".into()
    } else {
        duration(nanos as f64)
    }
}

fn summarise(out: &mut String, runs: &[Run]) {
    let same = runs.iter().all(|run| {
        run.setup == runs[0].setup
            || (run.setup.connections, run.setup.rate)
                == (runs[0].setup.connections, runs[0].setup.rate)
    });
    if same {
        let rates: Vec<f64> = runs.iter().map(|run| run.rates.goodput).collect();
        let (low, high) = rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), rate| {
            (low.min(*rate), high.max(*rate))
        });
        let _ = writeln!(
            out,
            "{} runs: median goodput {} req/s, from {} to {}",
            runs.len(),
            rate(stats::median(&rates)),
            rate(low),
            rate(high)
        );
        return;
    }
    let best = runs.iter().map(|run| run.rates.goodput).fold(0.0, f64::max);
    let closed = runs.iter().all(|run| run.setup.model == LoopModel::Closed);
    if let Some(knee) = runs
        .iter()
        .find(|run| closed && best > 0.0 && run.rates.goodput >= 0.95 * best)
    {
        let _ = writeln!(
            out,
            "from {} connections on, more of them add less than 5 %",
            knee.setup.connections
        );
    }
}
