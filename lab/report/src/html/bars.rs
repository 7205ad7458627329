//! Horizontal bars: rates with intervals and every repeat as a dot, and processor time per request.

use super::colour;
use super::plot::ticks;
use crate::cell::Metric;
use crate::stats::Estimate;
use crate::words::{ends, runtime_name, value};
use crate::{Cell, Column, Role, Run, Scenario, seeds};
use maud::{Markup, html};
use measure::text::{duration, rate};

/// Renders rates: a bar to the median, a whisker for the interval, a dot per repeat, a diamond for the write-up's own
/// figure.
pub(super) fn rates(run: &Run, scenario: &Scenario) -> Markup {
    let cells: Vec<(&Cell, Estimate)> = scenario
        .cells
        .iter()
        // In an open loop the rate is the load's, not the server's.
        .filter(|cell| !cell.is_open())
        .filter_map(|cell| Some((cell, cell.figure(&Metric::Goodput)?)))
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    let highest = |cell: &Cell, found: &Estimate| {
        let repeats = cell
            .samples(&Metric::Goodput)
            .into_iter()
            .map(|(_, rate)| rate);
        repeats.fold(found.value, f64::max)
    };
    let top = cells
        .iter()
        .map(|(cell, found)| highest(cell, found))
        .fold(0.0, f64::max);
    let scale = Scale::to(top);
    html! {
        figure.bars {
            figcaption { "Good responses per second" span.better { "more is better" } }
            @for (cell, found) in &cells { (rate_row(run, scenario, cell, found, &scale)) }
            (scale.axis(rate))
            (legend(scenario))
        }
    }
}

fn rate_row(
    run: &Run,
    scenario: &Scenario,
    cell: &Cell,
    found: &Estimate,
    scale: &Scale,
) -> Markup {
    let seed = seeds::beside(scenario, cell);
    let class = if cell.column == Column::AsSeed {
        "as-seed"
    } else {
        ""
    };
    html! {
        div class={ "row " (colour(&cell.runtime)) } {
            (label(run, cell))
            svg.bar role="img" aria-label={ (runtime_name(run, &cell.runtime)) ": " (value(&Metric::Goodput, found.value)) } {
                rect class={ "fill " (class) } x="0" y="5" width=(scale.at(found.value)) height="16" rx="2" {}
                line.whisker x1=(scale.at(found.low)) x2=(scale.at(found.high)) y1="13" y2="13" {}
                @for end in [found.low, found.high] {
                    line.whisker x1=(scale.at(end)) x2=(scale.at(end)) y1="8" y2="18" {}
                }
                @for (_, sample) in cell.samples(&Metric::Goodput) {
                    circle.dot cx=(scale.at(sample)) cy="13" r="2.2" { title { (rate(sample)) "/s" } }
                }
                @if let Some(seed) = seed { (diamond(scale, seed.good)) }
            }
            p.value {
                b { (rate(found.value)) } " "
                @if found.low < found.high { small { (ends(&Metric::Goodput, found)) } }
                @if let Some(seed) = seed {
                    small.seed { "write-up " (rate(seed.good)) @if seed.failed > 0 { ", " (seed.failed) " failed" } }
                }
            }
        }
    }
}

fn diamond(scale: &Scale, figure: f64) -> Markup {
    html! {
        @if figure <= scale.top {
            svg.mark x=(scale.at(figure)) overflow="visible" { path d="M0 4 l6 9 -6 9 -6 -9 z" { title { "the write-up: " (rate(figure)) "/s" } } }
        } @else {
            svg.mark x="100%" overflow="visible" { path d="M-9 6 l8 7 -8 7 z" { title { "the write-up: " (rate(figure)) "/s, beyond this scale" } } }
        }
    }
}

fn legend(scenario: &Scenario) -> Markup {
    let seeded = seeds::any_beside(scenario);
    html! {
        p.legend {
            "Bar: median. Whisker: 95 % interval. Dots: repeats."
            @if scenario.cells.iter().any(|cell| cell.column == Column::AsSeed) { " Pale: configured as in the write-up." }
            @if seeded { " ◇ the write-up's own figure, on its machine." }
        }
    }
}

/// Renders the latency of open loops: a bar to the 99th percentile, a dot at the median.
pub(super) fn latencies(run: &Run, scenario: &Scenario) -> Markup {
    let open = scenario.cells.iter().filter(|cell| cell.is_open());
    let cells: Vec<(&Cell, [f64; 2])> = open
        .map(|cell| (cell, cell.latency()))
        .filter(|(_, latency)| !latency.is_empty())
        .map(|(cell, latency)| (cell, [50.0, 99.0].map(|at| latency.percentile(at) as f64)))
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    let scale = Scale::to(cells.iter().map(|(_, [_, most])| *most).fold(0.0, f64::max));
    html! {
        figure.bars {
            figcaption { "Latency, counted from when each request was due" span.better { "less is better" } }
            @for (cell, [half, most]) in &cells {
                div class={ "row " (colour(&cell.runtime)) } {
                    (label(run, cell))
                    svg.bar role="img" aria-label={ (runtime_name(run, &cell.runtime)) ": 99 % within " (duration(*most)) } {
                        rect.fill x="0" y="5" width=(scale.at(*most)) height="16" rx="2" {}
                        circle.dot cx=(scale.at(*half)) cy="13" r="3" { title { "half within " (duration(*half)) } }
                    }
                    p.value { b { (duration(*most)) } " " small { "half within " (duration(*half)) } }
                }
            }
            (scale.axis(duration))
            p.legend { "Bar: 99 % of the requests took no longer. Dot: half of them." }
        }
    }
}

/// Renders a cell's name, and below it the load.
fn label(run: &Run, cell: &Cell) -> Markup {
    html! {
        p.label {
            b { (runtime_name(run, &cell.runtime)) }
            @if !cell.variant.is_empty() { " " span.variant { (unbroken(&cell.variant)) } }
            @if let Some(x) = cell.x { " " span.variant { "× " (x) } }
            @if cell.column == Column::AsSeed { " " span.variant { "as in the write-up" } }
            small { (load(cell)) }
        }
    }
}

/// Keeps a percentage on one line.
fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// Returns connections, keep-alive and workers as text.
pub(super) fn load(cell: &Cell) -> String {
    let mut parts = vec![format!("{} connections", cell.connections)];
    if !cell.keep_alive {
        parts.push("no keep-alive".to_owned());
    }
    if let Some(workers) = cell.workers {
        parts.push(format!(
            "{workers} worker{}",
            if workers == 1 { "" } else { "s" }
        ));
    }
    parts.join(" · ")
}

/// Renders processor time per request: server in its own code and in the kernel, proxy, database, load generator.
pub(super) fn cpu(run: &Run, scenario: &Scenario) -> Markup {
    let cells: Vec<(&Cell, Vec<Part>)> = scenario
        .cells
        .iter()
        .map(|cell| (cell, parts(cell)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    let total = |parts: &[Part]| parts.iter().map(|part| part.us).sum::<f64>();
    let scale = Scale::to(
        cells
            .iter()
            .map(|(_, parts)| total(parts))
            .fold(0.0, f64::max),
    );
    let shown = |us: f64| duration(us * 1e3);
    html! {
        figure.bars.cpu {
            figcaption { "CPU per request" span.better { "less is better" } }
            @for (cell, parts) in &cells {
                div class={ "row " (colour(&cell.runtime)) } {
                    (label(run, cell))
                    svg.bar role="img" aria-label={ (runtime_name(run, &cell.runtime)) ": " (shown(total(parts))) " per request" } {
                        @for part in parts {
                            rect class={ "part " (part.class) } x=(scale.at(part.from)) y="5" width=(scale.at(part.us)) height="16" { title { (part.name) ": " (shown(part.us)) } }
                        }
                    }
                    p.value { b { (shown(total(parts))) } small { (parts.iter().filter(|part| part.us > 0.0).map(|part| format!("{} {}", part.short, shown(part.us))).collect::<Vec<_>>().join(" · ")) } }
                }
            }
            (scale.axis(shown))
            p.legend.keys {
                @for (class, name) in [("server-user", "server, own code"), ("server-kernel", "server, kernel"), ("proxy", "proxy"), ("database", "database"), ("client", "load generator")] {
                    span { i class={ "key " (class) } {} (name) }
                }
            }
        }
    }
}

/// A part of a request's cost.
struct Part {
    class: &'static str,
    name: &'static str,
    short: &'static str,
    from: f64,
    us: f64,
}

fn parts(cell: &Cell) -> Vec<Part> {
    let server_user = cell.used(Role::Server, |used| {
        used.cpu_us_per_request * used.user_share.clamp(0.0, 1.0)
    });
    let server_kernel = cell.used(Role::Server, |used| {
        used.cpu_us_per_request * (1.0 - used.user_share.clamp(0.0, 1.0))
    });
    let of = |role| cell.used(role, |used| used.cpu_us_per_request);
    let client: Vec<f64> = cell
        .repeats
        .iter()
        .map(|repeat| repeat.load.cpu.client_us_per_request)
        .filter(|us| *us > 0.0)
        .collect();
    let client =
        of(Role::Client).or_else(|| (!client.is_empty()).then(|| measure::stats::median(&client)));
    if server_user.is_none() {
        return Vec::new();
    }
    let mut from = 0.0;
    [
        ("server-user", "server, own code", "server", server_user),
        ("server-kernel", "server, kernel", "kernel", server_kernel),
        ("proxy", "proxy", "proxy", of(Role::Proxy)),
        ("database", "database", "database", of(Role::Database)),
        ("client", "load generator", "client", client),
    ]
    .into_iter()
    .filter_map(|(class, name, short, us)| {
        let us = us.filter(|us| us.is_finite() && *us >= 0.0)?;
        let part = Part {
            class,
            name,
            short,
            from,
            us,
        };
        from += us;
        Some(part)
    })
    .collect()
}

/// A scale from 0 to the highest figure, with some room above it.
struct Scale {
    top: f64,
}

impl Scale {
    fn to(highest: f64) -> Self {
        let highest = if highest.is_finite() && highest > 0.0 {
            highest
        } else {
            1.0
        };
        Self {
            top: highest * 1.04,
        }
    }

    /// Returns the position of a figure on the scale, in percent.
    fn at(&self, figure: f64) -> String {
        format!("{:.2}%", (figure / self.top * 100.0).clamp(0.0, 100.0))
    }

    fn axis(&self, words: impl Fn(f64) -> String) -> Markup {
        html! {
            div.row.axis aria-hidden="true" {
                p.label {}
                svg.bar {
                    line.rule x1="0" x2="100%" y1="0.5" y2="0.5" {}
                    @for tick in ticks(0.0, self.top, 4) {
                        line.rule x1=(self.at(tick)) x2=(self.at(tick)) y1="0" y2="5" {}
                        text x=(self.at(tick)) y="17" text-anchor=(if tick == 0.0 { "start" } else { "middle" }) { @if tick == 0.0 { "0" } @else { (words(tick)) } }
                    }
                }
                p.value {}
            }
        }
    }
}
