//! The report as one HTML file: no script, no second file, charts as SVG.
//!
//! The charts are drawn here rather than by a charting library: they are bars and lines, the page works without
//! JavaScript and when printed, and colours follow the reader's light or dark scheme because they are CSS. Geometry is in
//! percent, so text keeps its size on a phone. maud escapes all text that is inserted.

mod bars;
mod claims;
mod latency;
mod method;
mod plot;
mod scenario;
mod table;

use crate::{Run, caveats};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// Renders the whole run.
#[must_use]
pub fn html(run: &Run) -> String {
    let title = format!("hearth bench, {}", caveats::began(run));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(run))
                main {
                    (method::section(run))
                    (claims::advice(run))
                    (claims::section(run))
                    @for scenario in &run.scenarios {
                        (scenario::section(run, scenario))
                    }
                    (method::runtimes(run))
                }
                footer { "Written by hearth " (run.version) ". The same data as JSON: " code { "--json" } "; two runs side by side: " code { "hearth bench compare" } "." }
            }
        }
    }
    .into_string()
}

fn head(run: &Run) -> Markup {
    let (good, bad, absent) = caveats::tally(run);
    html! {
        header {
            div.bar-top {
                p.brand { "hearth bench" }
                p.when { (caveats::began(run)) " · " (minutes(run.elapsed_s)) }
            }
            h1 { (run.host.processors) " × " (run.host.processor) }
            p.sub { (caveats::system(run)) }
            ul.tiles {
                (tile("scenarios", run.scenarios.len(), ""))
                (tile("cells measured", good, ""))
                @if bad > 0 { (tile("failed or unfinished", bad, "bad")) }
                @if absent > 0 { (tile("not here", absent, "quiet")) }
            }
            nav aria-label="Contents" {
                a href="#method" { "Method" }
                @if !run.advice.is_empty() { a href="#advice" { "Your app" } }
                a href="#claims" { "Write-ups" }
                @for scenario in &run.scenarios {
                    a href={ "#" (anchor(&scenario.name)) } { (scenario.name) }
                }
                a href="#runtimes" { "Servers" }
            }
        }
    }
}

fn tile(label: &str, number: usize, class: &str) -> Markup {
    html! { li class=(class) { b { (number) } " " (label) } }
}

fn minutes(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

/// Returns a scenario's name as a URL fragment.
fn anchor(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("s-{}", name.chars().map(safe).collect::<String>())
}

/// Returns the CSS class that gives a runtime its colour.
fn colour(runtime: &str) -> String {
    let known = [
        "hearth",
        "hearth-one",
        "hearth-classic",
        "apache",
        "fpm",
        "php-s",
        "swoole-base",
        "swoole-process",
        "workerman",
        "webman",
        "roadrunner",
        "frankenphp-worker",
        "frankenphp-classic",
        "gin",
    ];
    if known.contains(&runtime) {
        return format!("r-{runtime}");
    }
    let sum: u32 = runtime.bytes().map(u32::from).sum();
    format!("r-other-{}", sum % 3)
}
