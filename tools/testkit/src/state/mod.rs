//! What requests leave in the engine's memory, and what they show to others while they wait.
//!
//! A script runs inside a request of a resident worker whose memory is compared word by word, by `tests/state/app.php`
//! and the native functions that the setting `hearth.state_check` switches on. Each difference that no row of the
//! engine's state table stands for is a [`Finding`].

mod checker;
mod script;

pub use checker::{Checker, Unchecked};
pub use script::Script;

use serde_json::Value;

/// When a difference was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// By another request, while the script's waited.
    Waiting,
    /// By another request, after the script's had ended.
    Ended,
    /// By the script's own request, after it had waited.
    Resumed,
    /// By the next request, where one runs at a time.
    Next,
    /// By another request of the same worker, after the script's was ended by a fatal error.
    Broken,
    /// By another request, after the script's was ended by its time limit.
    TimedOut,
    /// By another request, after the script's was ended because its client had left.
    Left,
}

impl Moment {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "while it waits",
            Self::Ended => "after its end",
            Self::Resumed => "to itself",
            Self::Next => "by the next, one at a time",
            Self::Broken => "after a fatal error",
            Self::TimedOut => "after its time limit",
            Self::Left => "after its client left",
        }
    }
}

/// Memory that differs and should not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Where: the library, the variable and the place in it.
    pub place: String,
    /// The first word of it, before and after.
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
    /// Of one entry of `stateChanges()`; none for what the table accepts.
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
            // Nothing is freed after a fatal error: the worker leaves.
            || (text("kind") == "table" && moment == Moment::Broken)
            || (text("name").starts_with("descriptor") && moment == Moment::Broken)
            // The client's connection: it has left, or its response was broken off.
            || (text("name").starts_with("descriptor")
                && text("after").is_empty()
                && matches!(moment, Moment::Left | Moment::TimedOut))
            // Where a request's own pointer leads may have been freed long since.
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

    /// What one answer of the app lists.
    fn read_all(list: &Value, moment: Moment) -> Vec<Self> {
        let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| Self::read(entry, moment))
            .collect()
    }
}
