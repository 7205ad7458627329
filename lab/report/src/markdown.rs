//! The run as Markdown, for a pull request: caveats first, a table per scenario, the claims at the end.

use crate::cell::Metric;
use crate::claims::{Answer, lines};
use crate::words::{cell_name, interval, percentile, runtime_name, verdict};
use crate::{Cell, Run, Scenario, caveats, seeds, sweep};
use measure::text::{bytes, count, duration, rate};
use std::fmt::Write as _;

/// Renders the whole run.
#[must_use]
pub fn markdown(run: &Run) -> String {
    let mut out = format!("## hearth bench, {}\n\n", caveats::began(run));
    for (name, value) in caveats::method(run) {
        let _ = writeln!(out, "- **{name}**: {}", escape(&value));
    }
    out.push('\n');
    for caution in caveats::cautions(run) {
        let _ = writeln!(out, "> ⚠ {}\n>", escape(&caution));
    }
    for scenario in &run.scenarios {
        out += &table(run, scenario);
    }
    out += &advice(run);
    out += &claims(run);
    out
}

/// Renders one scenario as a heading and a table.
#[must_use]
pub fn table(run: &Run, scenario: &Scenario) -> String {
    let mut out = format!(
        "\n### {}\n\n{}\n\n",
        escape(&scenario.name),
        escape(&scenario.shows)
    );
    out += "| | good req/s | against | p50 | p99 | CPU/req | memory | failed | write-up |\n|---|---|---|---|---|---|---|---|---|\n";
    let mut absent = Vec::new();
    for cell in &scenario.cells {
        if cell.has_figures() {
            out += &row(run, scenario, cell);
        } else {
            absent.push(format!(
                "{} ({}: {})",
                runtime_name(run, &cell.runtime),
                cell.status.name(),
                cell.status.why().unwrap_or_default()
            ));
        }
    }
    if !absent.is_empty() {
        absent.dedup();
        let _ = writeln!(out, "\nWithout figures: {}", escape(&absent.join("; ")));
    }
    for curve in sweep::curves(run, scenario) {
        if let Some(best) = curve.recommended {
            let axis = scenario.axis.as_deref().unwrap_or("x");
            let name = [runtime_name(run, &curve.runtime), &curve.variant].join(" ");
            let _ = writeln!(
                out,
                "\n{}: {best} {} are enough.",
                escape(name.trim()),
                escape(axis)
            );
        }
    }
    out
}

fn row(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    let latency = cell.latency();
    let none = || "–".to_owned();
    let used = |what: fn(&crate::Use) -> f64| cell.serving(what);
    let columns = [
        format!(
            "{}<br>{} connections",
            escape(&cell_name(run, cell)),
            cell.connections
        ),
        cell.figure(&Metric::Goodput)
            .map_or_else(none, |found| interval(&Metric::Goodput, &found)),
        against(run, scenario, cell),
        percentile(&latency, 50.0),
        percentile(&latency, 99.0),
        used(|one| one.cpu_us_per_request).map_or_else(none, |us| duration(us * 1e3)),
        used(|one| one.pss_bytes as f64).map_or_else(none, bytes),
        count(cell.failures().0),
        seeds::beside(scenario, cell).map_or_else(none, |seed| format!("{}/s", rate(seed.good))),
    ];
    format!("| {} |\n", columns.join(" | "))
}

fn against(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    let Some(base) = scenario.base_of(cell) else {
        return "–".to_owned();
    };
    if cell.unlike(base).is_some() {
        return "not alike".to_owned();
    }
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    cell.ratio_to(base, &Metric::Goodput, true)
        .map_or_else(|| "–".to_owned(), |ratio| verdict(&ratio, floor))
}

fn advice(run: &Run) -> String {
    let mut out = String::new();
    for advice in &run.advice {
        let Some(gain) = crate::advice::gain(run, advice) else {
            continue;
        };
        if out.is_empty() {
            out += "\n### What would help\n\n";
        }
        let _ = writeln!(
            out,
            "- {}: {} ({} → {})",
            escape(&advice.title),
            verdict(&gain.ratio, run.noise.aa_floor.unwrap_or(0.0)),
            interval(&Metric::Goodput, &gain.base),
            interval(&Metric::Goodput, &gain.with),
        );
    }
    out
}

fn claims(run: &Run) -> String {
    let lines = lines(run);
    let measured = lines
        .iter()
        .filter(|line| line.answer != Answer::NotMeasured);
    let mut out = format!(
        "\n<details><summary>The write-ups' claims: {} of {} measured</summary>\n\n| they said | they saw | here | |\n|---|---|---|---|\n",
        measured.clone().count(),
        lines.len()
    );
    for line in measured {
        let _ = writeln!(
            out,
            "| {} | {} | {} | **{}**. {} |",
            escape(&line.claim.said),
            escape(&line.claim.saw),
            escape(&line.here),
            line.answer.words(),
            escape(&line.why)
        );
    }
    out + "\n</details>\n"
}

/// Escapes text so that it has no meaning in Markdown, and puts it on one line.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(letter);
            }
            '&' => out += "&amp;",
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}
