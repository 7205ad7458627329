//! Figures in full: the table of a scenario, its doubts, and the effective settings of the servers.

use super::{bars, colour};
use crate::cell::Metric;
use crate::words::{cell_name, ends, percentile, runtime_name, times, verdict};
use crate::{Cell, Run, Scenario, Status, seeds};
use maud::{Markup, html};
use measure::text::{bytes, count, duration, rate, three};

/// Renders the table with every cell, measured or not.
pub(super) fn table(run: &Run, scenario: &Scenario) -> Markup {
    let seeded = seeds::any_beside(scenario);
    html! {
        div.scroll {
            table.figures {
                thead { tr {
                    th { "" } th { "Good req/s" } th { "Against " (base_words(run, scenario)) } th { "p50" } th { "p99" }
                    th { "CPU/req" } th { "Switches/req" } th { "Memory" } th { "Failed" }
                    @if seeded { th { "Write-up" } }
                } }
                tbody {
                    @for cell in &scenario.cells { (row(run, scenario, cell, seeded)) }
                }
            }
        }
    }
}

/// Returns the name of the reference of the comparison.
fn base_words(run: &Run, scenario: &Scenario) -> String {
    if scenario.axis.is_some() {
        return "the smallest number".to_owned();
    }
    if scenario.compares_variants() {
        return "first variant".to_owned();
    }
    scenario
        .cells
        .iter()
        .find_map(|cell| scenario.base_of(cell))
        .map_or_else(
            || "first".to_owned(),
            |base| runtime_name(run, &base.runtime).to_owned(),
        )
}

fn row(run: &Run, scenario: &Scenario, cell: &Cell, seeded: bool) -> Markup {
    let columns = if seeded { 9 } else { 8 };
    let measured = cell.has_figures();
    let remarks = measured
        && (cell.limit.is_some() || !cell.notes.is_empty() || cell.status != Status::Measured);
    html! {
        tr class=(colour(&cell.runtime)) {
            th scope="row" rowspan=(if remarks { 2 } else { 1 }) { i.key {} (cell_name(run, cell)) small { (bars::load(cell)) } }
            @if measured { (figures(run, scenario, cell, seeded)) }
            @else { td.absent colspan=(columns) { (status(&cell.status)) } }
        }
        @if remarks {
            tr.why { td colspan=(columns) {
                @if cell.status != Status::Measured { (status(&cell.status)) " " }
                @if let Some(limit) = &cell.limit { b { "Why not double? " } (limit) ". " }
                @for note in &cell.notes { (note) ". " }
            } }
        }
    }
}

fn figures(run: &Run, scenario: &Scenario, cell: &Cell, seeded: bool) -> Markup {
    let latency = cell.latency();
    let (failed, all) = cell.failures();
    let used = |what: fn(&crate::Use) -> f64| cell.serving(what);
    html! {
        td.main data-label="good req/s" { @if let Some(found) = cell.figure(&Metric::Goodput) { b { (rate(found.value)) } @if found.low < found.high { small { (ends(&Metric::Goodput, &found)) } } } (marks(cell)) }
        td.against data-label="against" { (against(run, scenario, cell)) }
        td data-label="p50" { (percentile(&latency, 50.0)) }
        td data-label="p99" { (percentile(&latency, 99.0)) }
        td data-label="CPU/req" { (used(|one| one.cpu_us_per_request).map_or_else(dash, |us| duration(us * 1e3))) }
        td data-label="switches/req" { (used(|one| one.switches_per_request).map_or_else(dash, three)) }
        td data-label="memory" { (used(|one| one.pss_bytes as f64).filter(|size| *size > 0.0).map_or_else(dash, bytes)) }
        td.count.failed[cell.failing()] data-label="failed" { @if failed == 0 { "0" } @else { (count(failed)) " of " (count(all)) } }
        @if seeded { td data-label="write-up" { (write_up(scenario, cell)) } }
    }
}

fn dash() -> String {
    "–".to_owned()
}

/// Renders the ids of doubts, and the number of noisy repeats.
fn marks(cell: &Cell) -> Markup {
    let noisy = cell.noisy();
    html! {
        @for doubt in cell.doubts() { " " abbr.badge.doubt title={ (doubt.title) ": " (doubt.evidence) } { (doubt.id) } }
        @if noisy > 0 { " " abbr.badge.doubt title="another process needed the processors" { (noisy) " noisy" } }
    }
}

fn against(run: &Run, scenario: &Scenario, cell: &Cell) -> Markup {
    let Some(base) = scenario.base_of(cell) else {
        return html! { "–" };
    };
    if let Some(why) = cell.unlike(base) {
        return html! { abbr title={ "not compared: " (why) } { "not alike" } };
    }
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    html! {
        @if let Some(ratio) = cell.ratio_to(base, &Metric::Goodput, true) {
            abbr title={ (times(&ratio)) ": " (crate::words::both_ways(ratio.value)) } { (verdict(&ratio, floor)) }
        } @else { "–" }
    }
}

fn write_up(scenario: &Scenario, cell: &Cell) -> Markup {
    html! {
        @if let Some(seed) = seeds::beside(scenario, cell) {
            abbr title={ (seed.label) ", " (seed.tool) } { (rate(seed.good)) "/s" }
            @if seed.failed > 0 { br; small { (count(seed.failed)) " failed" } }
        } @else { "–" }
    }
}

fn status(status: &Status) -> Markup {
    let class = match status {
        Status::Failed { .. } => "bad",
        Status::Unfinished { .. } => "open",
        _ => "absent",
    };
    html! {
        span class={ "badge " (class) } { (status.name()) } " " (status.why().unwrap_or(""))
        @if let Status::NotInstalled { how, .. } = status { " " small { (how) } }
    }
}

/// Renders the figures that the write-up printed for the experiment that the scenario repeats.
pub(super) fn write_up_figures(scenario: &Scenario) -> Markup {
    let figures: Vec<_> = seeds::of_scenario(scenario).collect();
    if figures.is_empty() {
        return html! {};
    }
    let ms = |figure: Option<f64>| figure.map_or_else(dash, |ms| duration(ms * 1e6));
    html! {
        h4 { "The write-up's own figures" small { " on its machine" } }
        div.scroll.close {
            table.figures.seeds {
                thead { tr { th { "" } th { "Good req/s" } th { "p50" } th { "p99" } th { "Longest" } th { "Failed" } th { "Taken with" } } }
                tbody { @for one in &figures { tr {
                    th scope="row" { (one.label) @if !one.variant.is_empty() { ", " (one.variant) } @if let Some(connections) = one.connections { small { (connections) " connections" } } }
                    td data-label="good req/s" { @if let (Some(low), Some(high)) = (one.low, one.high) { (rate(low)) "–" (rate(high)) } @else { (rate(one.good)) } }
                    td data-label="p50" { (ms(one.p50_ms)) } td data-label="p99" { (ms(one.p99_ms)) } td data-label="longest" { (ms(one.max_ms)) }
                    td.count.failed[one.failed > 0] data-label="failed" { @if one.failed > 0 { (count(one.failed)) @if let Some(all) = one.requests { " of " (count(all)) } } @else { "0" } }
                    td data-label="taken with" { (one.tool) @if let Some(seconds) = one.measured_s { ", " (three(seconds)) " s" } }
                } } }
            }
        }
    }
}

/// Renders the doubts about the figures, cell by cell.
pub(super) fn doubts(run: &Run, scenario: &Scenario) -> Markup {
    let cells: Vec<&Cell> = scenario
        .cells
        .iter()
        .filter(|cell| !cell.doubts().is_empty())
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "Doubts about " (cells.len()) " of " (scenario.cells.len()) " cells" }
            @for cell in cells {
                h4 { (cell_name(run, cell)) small { " " (bars::load(cell)) } }
                ul.notes { @for doubt in cell.doubts() {
                    li { b { (doubt.id) " " (doubt.title) } ": " (doubt.evidence) ". " i { (doubt.advice) } }
                } }
            }
        }
    }
}

/// Renders the effective settings and the figures that were read back, cell by cell.
pub(super) fn settings(run: &Run, scenario: &Scenario) -> Markup {
    let cells: Vec<&Cell> = scenario
        .cells
        .iter()
        .filter(|cell| !cell.config.is_empty() || !cell.observed.is_empty())
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "Settings that the servers had" }
            div.settings { @for cell in cells {
                div {
                    h4 { (cell_name(run, cell)) small { " " (bars::load(cell)) } }
                    dl { @for one in cell.config.iter().chain(&cell.observed) { div { dt { (one.name) } dd { (one.value) } } } }
                }
            } }
        }
    }
}
