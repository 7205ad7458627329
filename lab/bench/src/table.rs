//! The table of one scenario for a terminal.

use measure::stats::median;
use report::{Cell, Column, Repeat, Role, Scenario, Status};
use std::fmt::Write as _;

/// All cells: rate, latency, CPU per request, memory, and what limited each.
pub(crate) fn table(scenario: &Scenario, name_of: impl Fn(&str) -> String) -> String {
    let mut text = format!(
        "\n{} ({}): {}\n",
        scenario.name, scenario.title, scenario.shows
    );
    let _ = writeln!(
        text,
        "{:<34} {:>10} {:>19} {:>8} {:>9} {:>9} {:>8} {:>8}",
        "", "good/s", "lowest – highest", "p50 ms", "p99 ms", "CPU µs", "DB µs", "PSS MB"
    );
    for cell in &scenario.cells {
        let mut name = name_of(&cell.runtime);
        if cell.column == Column::AsSeed {
            name += ", as the seed";
        }
        if !cell.variant.is_empty() {
            name = format!("{name}, {}", cell.variant);
        }
        name += &format!(" c={}", cell.connections);
        let _ = writeln!(text, "{}", line(&name, cell));
    }
    text
}

fn line(name: &str, cell: &Cell) -> String {
    let figures = figures(&cell.repeats);
    match (&cell.status, figures) {
        (Status::Measured, Some(figures)) => format!("{name:<34} {figures}"),
        (Status::Unfinished { why } | Status::Failed { why }, Some(figures)) => {
            format!("{name:<34} {figures}  {why}")
        }
        (
            Status::NotInstalled { why, .. }
            | Status::NotApplicable { why }
            | Status::Unfinished { why }
            | Status::Failed { why },
            None,
        ) => {
            format!("{name:<34} – {}", why.lines().next().unwrap_or_default())
        }
        (status, figures) => format!("{name:<34} {status:?} {}", figures.unwrap_or_default()),
    }
}

fn figures(repeats: &[Repeat]) -> Option<String> {
    if repeats.is_empty() {
        return None;
    }
    let of = |value: &dyn Fn(&Repeat) -> f64| -> Vec<f64> { repeats.iter().map(value).collect() };
    let used = |role: Role| {
        of(&|repeat| {
            repeat
                .cpu
                .iter()
                .filter(|one| one.role == role)
                .map(|one| one.cpu_us_per_request)
                .sum()
        })
    };
    let goodput = of(&|repeat| repeat.load.rates.goodput);
    let (low, high) = goodput
        .iter()
        .fold((f64::MAX, 0.0_f64), |(low, high), rate| {
            (low.min(*rate), high.max(*rate))
        });
    let percentile = |p: f64| {
        median(&of(&|repeat| {
            repeat.load.latency.service.percentile(p) as f64 / 1e6
        }))
    };
    let server: Vec<f64> = used(Role::Server)
        .iter()
        .zip(used(Role::Proxy))
        .map(|(a, b)| a + b)
        .collect();
    let memory = of(&|repeat| {
        repeat
            .cpu
            .iter()
            .filter(|one| matches!(one.role, Role::Server | Role::Proxy))
            .map(|one| one.pss_bytes as f64 / 1e6)
            .sum()
    });
    let failed: u64 = repeats.iter().map(|repeat| repeat.load.counts.failed).sum();
    let mut text = format!(
        "{:>10.0} {:>19} {:>8.2} {:>9.2} {:>9.1} {:>8.1} {:>8.0}",
        median(&goodput),
        format!("{low:.0} – {high:.0}"),
        percentile(50.0),
        percentile(99.0),
        median(&server),
        median(&used(Role::Database)),
        median(&memory)
    );
    if failed > 0 {
        let _ = write!(text, "  {failed} failed");
    }
    Some(text)
}
