//! `hearth bench doctor`: what can be measured on this machine, how fit the machine is, and how to get what is missing.

use crate::database::Kind;
use crate::run_dir::{Processors, allowed_processors};
use crate::runtimes::{ALL, Found, Tools};
use report::{Runtime, RuntimeKind};
use std::fmt::Write as _;
use std::time::Duration;

/// Returns every server and database that a scenario knows, found or not.
pub(crate) fn inventory(tools: &Tools) -> Vec<Runtime> {
    let mut all: Vec<Runtime> = ALL
        .iter()
        .map(|one| entry(one.id(), one.name(), RuntimeKind::Server, tools.find(*one)))
        .collect();
    for kind in Kind::ALL {
        let found = kind.find(tools);
        all.push(entry(kind.id(), kind.name(), RuntimeKind::Database, found));
    }
    all
}

fn entry(id: &str, name: &str, kind: RuntimeKind, found: Found) -> Runtime {
    let mut entry = Runtime {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        ..Runtime::default()
    };
    match found {
        Found::Here { version, path } => {
            entry.version = Some(version);
            entry.path = Some(path.display().to_string());
        }
        Found::Missing { why, how } => {
            entry.missing = Some(why);
            entry.how = Some(how);
        }
    }
    entry
}

/// Returns the whole page.
pub(crate) fn page(tools: &Tools) -> String {
    let mut text = String::from("Servers and databases\n");
    for one in inventory(tools) {
        match (&one.version, &one.missing) {
            (Some(version), _) => {
                let _ = writeln!(text, "  {:<20} {:<24} {version}", one.id, one.name);
            }
            (None, missing) => {
                let _ = writeln!(
                    text,
                    "  {:<20} {:<24} not here: {}",
                    one.id,
                    one.name,
                    missing.as_deref().unwrap_or_default()
                );
                let _ = writeln!(
                    text,
                    "  {:<20} {:<24} → {}",
                    "",
                    "",
                    one.how.as_deref().unwrap_or_default()
                );
            }
        }
    }
    text + &machine(tools)
}

fn machine(tools: &Tools) -> String {
    let host = crate::host::host(tools);
    let noise = crate::host::noise(Duration::from_secs(2));
    let all = allowed_processors();
    let divided = Processors::of(&all, true);
    let mut text = format!(
        "\nMachine\n  {}, {} processors, {:.1} GiB, {}\n",
        host.processor,
        host.processors,
        host.memory_bytes as f64 / f64::from(1 << 30),
        host.kernel
    );
    if divided.are_divided() {
        let _ = writeln!(
            text,
            "  load on processor {}, servers on {}",
            Processors::list(&divided.load),
            Processors::list(&divided.servers)
        );
    } else {
        text += "  one processor for load and servers: rates mean nothing, only CPU time per request does\n";
    }
    let pressure = noise.psi_some_before.map_or_else(
        || "unknown".to_owned(),
        |share| format!("{:.1} %", share * 100.0),
    );
    let _ = writeln!(
        text,
        "  now: others use {:.1} %, waiting for a processor {pressure}, stolen {:.1} %, load average {:.2}{}",
        noise.others_before * 100.0,
        noise.steal * 100.0,
        noise.load_average,
        if noise.others_before > 0.05 {
            ": too busy for rates; ratios and CPU per request still hold"
        } else {
            ": quiet"
        }
    );
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = files
        .maximum
        .map_or_else(|| "any number".to_owned(), |n| n.to_string());
    let _ = writeln!(text, "  open files: at most {most}");
    text
}
