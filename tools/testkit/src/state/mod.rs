//! Checks what requests leave in the engine's memory, and what they show to other requests while they wait.
//!
//! A script runs inside a request of a resident worker, whose memory `tests/state/app.php` compares word by word with the
//! native functions that the setting `hearth.state_check` enables. Each difference that no row of the engine's state
//! table covers is a [`Finding`].

mod checker;
mod script;

pub use checker::{Checker, Unchecked};
pub use script::Script;

use serde_json::Value;

/// When, and by which request, a difference was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// By another request, while the script's request waited.
    Waiting,
    /// By another request, after the script's request had ended.
    Ended,
    /// By the script's own request, after it had waited.
    Resumed,
    /// By the next request, in a worker that runs one at a time.
    Next,
    /// By another request of the same worker, after a fatal error had ended the script's request.
    Broken,
    /// By another request, after its time limit had ended the script's request.
    TimedOut,
    /// By another request, after the script's request had ended because its client had left.
    Left,
    /// By the supervisor: a signal killed the worker.
    Crashed,
}

impl Moment {
    /// Returns the moment's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "while it waits",
            Self::Ended => "after its end",
            Self::Resumed => "to itself",
            Self::Next => "by the next, one at a time",
            Self::Broken => "after a fatal error",
            Self::TimedOut => "after its time limit",
            Self::Left => "after its client left",
            Self::Crashed => "as the worker crashed",
        }
    }
}

/// A difference in memory that the state table does not cover.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The place: the library, the variable and the offset in it.
    pub place: String,
    /// The first word at that place, before and after.
    pub values: String,
    pub moment: Moment,
}

/// Processes and descriptors have other numbers each time.
fn without_number(name: &str) -> &str {
    let kinds = ["child process", "descriptor"];
    let kind = kinds.into_iter().find(|kind| name.starts_with(kind));
    kind.unwrap_or(name)
}

impl Finding {
    /// Reads one entry of `stateChanges()`; returns `None` if the table accepts it.
    fn read(entry: &Value, moment: Moment) -> Option<Self> {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        let accepted = entry["accepted"].as_bool() == Some(true)
            || matches!(
                (text("treatment"), moment),
                ("reset", Moment::Resumed)
                    | ("open", Moment::Waiting | Moment::Resumed)
                    | ("persistent", Moment::Next)
                    | (
                        "shared",
                        Moment::Waiting
                            | Moment::Ended
                            | Moment::Resumed
                            | Moment::Broken
                            | Moment::TimedOut
                            | Moment::Left
                    )
            )
            // After a fatal error nothing is freed, because the worker exits.
            || (text("kind") == "table" && moment == Moment::Broken)
            || (text("name").starts_with("descriptor") && moment == Moment::Broken)
            // The client's connection: the client has left, or its response was aborted.
            || (text("name").starts_with("descriptor")
                && text("after").is_empty()
                && matches!(moment, Moment::Left | Moment::TimedOut))
            // The target of a request's own pointer may have been freed long ago.
            || (text("kind") == "content" && moment == Moment::Resumed);
        if accepted {
            return None;
        }
        let (kind, name) = (text("kind"), without_number(text("name")));
        let offset = match kind {
            "table" | "setting" | "process" => String::new(),
            "content" => format!("+{:#x} →", entry["from"].as_u64().unwrap_or(0)),
            _ => format!("+{:#x}", entry["offset"].as_u64().unwrap_or(0)),
        };
        let treatment = match text("treatment") {
            "" => String::new(),
            other => format!(" ({other})"),
        };
        Some(Self {
            place: format!("{} {kind} {name}{offset}{treatment}", text("object")),
            values: format!("{:?} → {:?}", text("before"), text("after")),
            moment,
        })
    }

    /// Reads the supervisor's log line about a worker that a signal killed.
    fn of_crash(line: &str) -> Self {
        let signal = line.split_once("killed by ").map_or(line, |(_, rest)| rest);
        let signal = signal.split_whitespace().next().unwrap_or(signal);
        Self {
            place: format!("worker killed by {signal}"),
            values: line.to_owned(),
            moment: Moment::Crashed,
        }
    }

    /// Reads all entries of one response of the app.
    fn read_all(list: &Value, moment: Moment) -> Vec<Self> {
        let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
        // A persistent connection has a socket, for the next request too.
        let is_persistent = |entry: &Value| entry["treatment"] == "persistent";
        let has_connection = moment == Moment::Next && entries.iter().any(is_persistent);
        let is_socket = |entry: &Value| {
            let after = entry["after"].as_str().unwrap_or_default();
            entry["kind"] == "process" && after.starts_with("socket:")
        };
        entries
            .iter()
            .filter(|entry| !(has_connection && is_socket(entry)))
            .filter_map(|entry| Self::read(entry, moment))
            .collect()
    }
}
