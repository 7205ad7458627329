//! Method and caveats of the run, and the servers of the machine.

use crate::{Run, Runtime, RuntimeKind, caveats};
use maud::{Markup, html};

/// Renders how the figures were taken and the cautions about them.
pub(super) fn section(run: &Run) -> Markup {
    html! {
        section #method {
            h2 { "Method and caveats" }
            ul.cautions {
                @for caution in caveats::cautions(run) { li { (caution) } }
            }
            dl.method {
                @for (name, value) in caveats::method(run) {
                    div { dt { (name) } dd { (value) } }
                }
            }
        }
    }
}

/// Renders every known server, database and proxy: its version, or how to get it.
pub(super) fn runtimes(run: &Run) -> Markup {
    html! {
        section #runtimes {
            h2 { "Servers" }
            div.scroll {
                table.plain {
                    thead { tr { th { "" } th { "Version" } th { "Where" } } }
                    tbody {
                        @for runtime in &run.runtimes { (row(runtime)) }
                    }
                }
            }
        }
    }
}

fn row(runtime: &Runtime) -> Markup {
    let kind = match runtime.kind {
        RuntimeKind::Server => "",
        RuntimeKind::Database => "database",
        RuntimeKind::Proxy => "proxy",
    };
    html! {
        tr {
            th scope="row" { (runtime.name) @if !kind.is_empty() { " " small { (kind) } } }
            @if let Some(why) = &runtime.missing {
                td { span.badge.absent { "not installed" } }
                td { (why) @if let Some(how) = &runtime.how { br; small { (how) } } }
            } @else {
                td { (runtime.version.as_deref().unwrap_or("unknown")) }
                td { code { (runtime.path.as_deref().unwrap_or("")) } }
            }
        }
    }
}
