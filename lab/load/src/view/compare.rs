//! A comparison of two results as a table, worded as its intervals allow.

use measure::compare::{Comparison, Row, Unit, Word};
use measure::text::{duration, percent, rate};
use std::fmt::Write as _;

/// Renders the comparison of `a` and `b`.
pub(crate) fn render(a: &str, b: &str, comparison: &Comparison) -> String {
    let (trials_a, trials_b) = comparison.trials;
    let mut out = format!(
        "A {a} ({trials_a} run{})\nB {b} ({trials_b} run{})\n\n",
        plural(trials_a),
        plural(trials_b)
    );
    let _ = writeln!(
        out,
        "{:<20} {:>12} {:>12} {:>9}  {:<21} says",
        "", "A", "B", "B − A", "95 % interval"
    );
    for row in &comparison.rows {
        let _ = writeln!(out, "{}", line(row));
    }
    if let Some(p) = comparison.p {
        let _ = writeln!(out, "\nMann-Whitney on goodput: p = {p:.4}");
    }
    if !comparison.cautions.is_empty() {
        out.push('\n');
    }
    for caution in &comparison.cautions {
        let _ = writeln!(out, "! {caution}");
    }
    out
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn line(row: &Row) -> String {
    let value = |value: f64| match row.unit {
        Unit::PerSecond => format!("{}/s", rate(value)),
        Unit::Nanos => duration(value),
        Unit::Share => percent(value),
    };
    let signed = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let (change, interval) = row.ratio.map_or_else(
        || (String::new(), String::new()),
        |ratio| {
            (
                signed(ratio.value),
                format!("{} to {}", signed(ratio.low), signed(ratio.high)),
            )
        },
    );
    let verdict = match row.word() {
        Word::Better => "B is better",
        Word::Worse => "B is worse",
        Word::NoDifference => "no difference seen",
        Word::Unknown => "",
    };
    let arrow = if row.more_is_better { "↑" } else { "↓" };
    format!(
        "{arrow} {:<18} {:>12} {:>12} {change:>9}  {interval:<21} {verdict}",
        row.name,
        value(row.a),
        value(row.b)
    )
    .trim_end()
    .to_owned()
}
