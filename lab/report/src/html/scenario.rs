//! One scenario: its purpose, its charts and its table.

use super::{anchor, bars, latency, plot, table};
use crate::{Run, Scenario, seeds};
use maud::{Markup, html};

/// Renders one scenario.
pub(super) fn section(run: &Run, scenario: &Scenario) -> Markup {
    html! {
        section.scenario id=(anchor(&scenario.name)) {
            h2 { (scenario.title) " " code { (scenario.name) } }
            p.lead { (sentence(&scenario.shows)) }
            p.how { (how(scenario)) }
            @if scenario.axis.is_some() { (plot::sweep(run, scenario)) } @else { (bars::rates(run, scenario)) (bars::latencies(run, scenario)) }
            @if scenario.axis.is_some() {
                details { summary { "Figures of " (scenario.cells.len()) " cells" } (table::table(run, scenario)) (bars::cpu(run, scenario)) }
            } @else {
                (table::table(run, scenario))
                div.charts { (latency::percentiles(run, scenario)) (plot::timeline(run, scenario)) (bars::cpu(run, scenario)) }
            }
            (table::write_up_figures(scenario))
            (details(run, scenario))
        }
    }
}

/// Returns the text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.trim().trim_end_matches('.').chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

fn how(scenario: &Scenario) -> String {
    let mut parts = Vec::new();
    if !scenario.requests.is_empty() {
        parts.push(scenario.requests.join(", "));
    }
    if !scenario.loops.is_empty() {
        parts.push(scenario.loops.clone());
    }
    if let Some(hash) = &scenario.body_sha256 {
        let short: String = hash.chars().take(12).collect();
        parts.push(format!(
            "every server sends the same {} bytes (sha256 {short}…)",
            scenario.body_bytes
        ));
    }
    if let Some(seed) = &scenario.seed {
        parts.push(format!("repeats “{}”", seeds::title(seed)));
    }
    parts.join(" · ")
}

fn details(run: &Run, scenario: &Scenario) -> Markup {
    html! {
        @if !scenario.notes.is_empty() {
            ul.notes { @for note in &scenario.notes { li { (note) } } }
        }
        (table::doubts(run, scenario))
        (table::settings(run, scenario))
    }
}
