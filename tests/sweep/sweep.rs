//! The calls of one part: each once without an action, and those that were left once for each action.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::caller::{Call, Caller, Failed};
use crate::known::Known;
use crate::setting;

/// What the other task does: see `act.php`.
const ACTIONS: [&str; 9] = [
    "drop", "empty", "replace", "grow", "methods", "same", "again", "cancel", "throw",
];

/// Returns the actions of this run: all, or those of `SWEEP_ACTIONS`.
pub(crate) fn actions() -> Vec<&'static str> {
    let Some(names) = setting("SWEEP_ACTIONS") else {
        return ACTIONS.to_vec();
    };
    let known = |name: &str| ACTIONS.into_iter().find(|action| *action == name);
    names
        .split(',')
        .map(|name| {
            known(name).unwrap_or_else(|| {
                panic!("SWEEP_ACTIONS={names}: no action {name:?}; there are {ACTIONS:?}")
            })
        })
        .collect()
}

/// What was called, by name, and what was found.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    called: BTreeSet<String>,
    /// Those that have run PHP code, and those in which the task was left meanwhile.
    reached: BTreeSet<String>,
    left: BTreeSet<String>,
    calls: u64,
    pub(crate) found: Vec<String>,
}

impl Swept {
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.called.extend(other.called);
        self.reached.extend(other.reached);
        self.left.extend(other.left);
        self.calls += other.calls;
        self.found.extend(other.found);
        self
    }

    pub(crate) fn report(&self, cases: usize) {
        eprintln!(
            "{cases} cases of {} functions, methods and operators: {} ran PHP code, {} were left meanwhile; {} calls",
            self.called.len(),
            self.reached.len(),
            self.left.len(),
            self.calls
        );
        if setting("SWEEP_NAMES").is_some() {
            let never: Vec<_> = self.called.difference(&self.reached).collect();
            eprintln!("no PHP code ran in {never:?}");
        }
    }
}

struct Part<'a> {
    caller: Caller,
    known: &'a Known,
    actions: &'a [&'static str],
    swept: Swept,
}

pub(crate) fn sweep(cases: Vec<String>, known: &Known, actions: &[&'static str]) -> Swept {
    let mut part = Part {
        caller: Caller::new(setting("SWEEP_UNDER")),
        known,
        actions,
        swept: Swept::default(),
    };
    for case in cases {
        part.case(&case);
    }
    part.alerts();
    part.swept
}

impl Part<'_> {
    fn case(&mut self, case: &str) {
        let target = case.split(' ').next().unwrap_or_default().to_owned();
        self.swept.called.insert(target.clone());
        let Some(answer) = self.call(&Call::probe(case)) else {
            return;
        };
        if answer["calls"] != 0 {
            self.swept.reached.insert(target.clone());
        }
        let left = answer["left"].as_array().cloned().unwrap_or_default();
        if left.is_empty() {
            return;
        }
        self.swept.left.insert(target);
        for action in self.actions {
            for at in left.iter().filter_map(Value::as_u64) {
                self.call(&Call {
                    case: case.to_owned(),
                    action: Some(((*action).to_owned(), at)),
                });
            }
        }
    }

    /// Makes a call, and notes what it shows.
    fn call(&mut self, call: &Call) -> Option<Value> {
        if self.known.has(call) {
            return None;
        }
        self.swept.calls += 1;
        match self.caller.ask(call) {
            Ok(answer) => {
                if answer["differs"]
                    .as_array()
                    .is_some_and(|list| !list.is_empty())
                {
                    self.found(call, &format!("the result differs: {}", answer["differs"]));
                }
                if answer["reported"] == true {
                    self.found(call, "there is a report in SWEEP_REPORTS");
                }
                Some(answer)
            }
            // The function itself ends a request, without another task too.
            Err(Failed::Ended(..)) if call.action.is_none() => None,
            Err(Failed::Ended(None, _)) => None,
            Err(Failed::Ended(Some(why), before) | Failed::Broken(why, before)) => {
                let cause = cause(call, before);
                self.found(&cause, &why);
                None
            }
        }
    }

    fn found(&mut self, call: &Call, why: &str) {
        let actions = call
            .action
            .as_ref()
            .map(|(action, _)| format!(" SWEEP_ACTIONS={action}"))
            .unwrap_or_default();
        let text = format!(
            "{call}: {why}\n    SWEEP_CASES='^{}$'{actions} ./dev test sweep",
            regex::escape(&call.case)
        );
        eprintln!("{text}");
        self.swept.found.push(text);
    }

    fn alerts(&mut self) {
        let alerts = self.caller.stop();
        self.swept.found.extend(alerts);
    }
}

/// Most calls before the last one that are looked at for the cause.
const MOST_BEFORE: usize = 500;

/// Returns the call that has broken the worker: the last one if it does so alone, otherwise the last of those before it that do so with all that
/// follow.
fn cause(last: &Call, before: Vec<Call>) -> Call {
    let mut count = 0;
    loop {
        let from = before.len() - count;
        let mut caller = Caller::new(setting("SWEEP_UNDER"));
        let breaks = before[from..]
            .iter()
            .chain([last])
            .any(|call| caller.ask(call).is_err());
        caller.stop();
        if breaks {
            return before.get(from).unwrap_or(last).clone();
        }
        if count == before.len().min(MOST_BEFORE) {
            // Chance, or too far away.
            return last.clone();
        }
        count = (2 * count + 1).min(before.len()).min(MOST_BEFORE);
    }
}
