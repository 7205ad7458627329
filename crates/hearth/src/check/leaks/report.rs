//! The report: what grows with each request, and what is changed for the requests that follow.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::Deserialize;

/// A difference in the worker's state, as reported by `Hearth\Internal\stateChanges()`.
#[derive(Debug, Clone, Deserialize)]
struct Change {
    object: String,
    kind: String,
    name: String,
    before: String,
    after: String,
    module: String,
    treatment: String,
    accepted: bool,
}

/// The differences since before the first request.
#[derive(Debug, Deserialize)]
pub(super) struct Changes {
    changes: Vec<Change>,
}

/// The differences since the previous mark.
#[derive(Debug, Deserialize)]
pub(super) struct Mark {
    pub(super) worker: u32,
    php: i64,
    native: i64,
    grown: BTreeMap<String, i64>,
    changes: Vec<Change>,
}

/// Bytes per request below which nothing is reported: tables grow in steps.
const LEAST: i64 = 64;
/// Bytes per request for native code. They include the server's own memory, and what malloc() keeps for reuse.
const LEAST_NATIVE: i64 = 1024;
/// The most entries of a list, and the most characters of a value, that are shown.
const MOST: usize = 20;
const LONGEST: usize = 160;

#[derive(Debug, Default)]
pub(super) struct Report {
    requests: usize,
    growing: Vec<String>,
    left: Vec<(String, &'static str)>,
}

impl Report {
    /// The marks are those of two rounds with the same number of requests.
    pub(super) fn new(since_begin: Changes, one: &Mark, two: &Mark, requests: usize) -> Report {
        let mut growing = Vec::new();
        for (what, [one, two], least) in [
            ("memory of PHP", [one.php, two.php], LEAST),
            (
                "memory of native code",
                [one.native, two.native],
                LEAST_NATIVE,
            ),
        ] {
            let bytes = one.min(two) / requests as i64;
            if bytes >= least {
                growing.push(format!("{what}: {bytes} bytes per request"));
            }
        }
        growing.extend(growing_places(one, two, requests));
        growing.extend(growing_lists(one, two, requests));
        let left = since_begin.changes.iter().filter_map(left).collect();
        Report {
            requests: requests * 2,
            growing,
            left,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.growing.is_empty() && self.left.is_empty()
    }
}

fn growing_places(one: &Mark, two: &Mark, requests: usize) -> impl Iterator<Item = String> {
    two.grown.iter().filter_map(move |(place, second)| {
        let more = one.grown.get(place)?.min(second);
        let (name, row) = (short(place), row_of_place(place));
        Some(format!(
            "{name}: {more} more in {requests} requests [{row}]"
        ))
    })
}

fn growing_lists(one: &Mark, two: &Mark, requests: usize) -> impl Iterator<Item = String> {
    let (before, now) = (listed(&one.changes), listed(&two.changes));
    now.into_iter()
        .filter_map(move |(list, (second, example))| {
            let (first, _) = before.get(&list)?;
            let more = *first.min(&second);
            (more > 0).then(|| {
                format!("{list}: {more} more in {requests} requests, such as {example} [{FILES}]")
            })
        })
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "ok: {} requests left nothing behind", self.requests);
        }
        if !self.growing.is_empty() {
            writeln!(f, "grows with the requests:")?;
            for line in self.growing.iter().take(MOST) {
                writeln!(f, "  {line}")?;
            }
            if self.growing.len() > MOST {
                writeln!(f, "  and {} more", self.growing.len() - MOST)?;
            }
        }
        for reason in [OF_PROCESS, OF_ENGINE] {
            let mut lines = self.left.iter().filter(|(_, of)| *of == reason).peekable();
            if lines.peek().is_some() {
                writeln!(f, "{reason}:")?;
            }
            for (line, _) in lines {
                writeln!(f, "  {line}")?;
            }
        }
        writeln!(f, "In brackets: the line of docs/concepts/state.md")?;
        Ok(())
    }
}

/// For each list of the system or the engine: how many entries came and stayed, and one of them.
fn listed(changes: &[Change]) -> BTreeMap<String, (i64, String)> {
    let mut lists: BTreeMap<String, (i64, String)> = BTreeMap::new();
    for change in changes {
        let list = match change.kind.as_str() {
            "table" => change.name.rsplit(": ").next().unwrap_or_default(),
            "process" if change.name.starts_with("descriptor ") => "open descriptors",
            "process" if change.name.starts_with("child process ") => "child processes",
            _ => continue,
        };
        let (count, example) = lists.entry(list.to_owned()).or_default();
        match (change.before.is_empty(), change.after.is_empty()) {
            (true, false) => {
                *count += 1;
                example.clone_from(&change.after);
            }
            (false, true) => *count -= 1,
            _ => {}
        }
    }
    lists
}

const OF_PROCESS: &str =
    "is changed for all requests of the worker, which has one of each: set it in the entry script";
const OF_ENGINE: &str = "is changed in PHP's or an extension's memory, and not put back: please report it, with the versions of both";

const FILES: &str = "open files, sockets and connections";

/// The line of docs/concepts/state.md for a place where arrays grow.
fn row_of_place(place: &str) -> &'static str {
    match place {
        "classes" | "functions" | "constants" | "included files" => "definitions",
        _ if place.starts_with("autoloaders") => "autoloaders",
        _ if place.starts_with("the handler") => "what the entry script made",
        _ => "global variables and statics",
    }
}

/// The line of docs/concepts/state.md for a fact of the process; `None` if a library owns it.
fn row_of_fact(name: &str) -> Option<&'static str> {
    Some(match name.split(' ').next()? {
        "locale" => "locale",
        "environment" => "environment",
        "umask" => "umask",
        "working" => "working directory",
        "text" => "text domain",
        "signal" | "timer" | "limit" | "priority" | "processors" => "signals, limits, priority",
        "user" | "session" => "identity",
        _ => return None,
    })
}

/// Describes a change; `None` for what a request may change, and for what is compared by its growth.
fn left(change: &Change) -> Option<(String, &'static str)> {
    let is_list = change.kind == "table" || change.kind == "process" && change.treatment == "open";
    if change.accepted || is_list || change.treatment == "persistent" {
        return None;
    }
    let values = format!("{} → {}", shown(&change.before), shown(&change.after));
    let of_process = row_of_fact(&change.name).filter(|_| change.kind == "process");
    Some(match (change.kind.as_str(), of_process) {
        (_, Some(row)) => (format!("{}: {values} [{row}]", change.name), OF_PROCESS),
        (kind, None) => {
            let row = match change.module.as_str() {
                "" => "none".to_owned(),
                module => format!("of {module}"),
            };
            let place = format!("{} {kind} {}", change.object, change.name);
            (format!("{place}: {values} [{row}]"), OF_ENGINE)
        }
    })
}

fn shown(value: &str) -> String {
    match value {
        "" => "none".to_owned(),
        value => format!("\"{}\"", short(value)),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
