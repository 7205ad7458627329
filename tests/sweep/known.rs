//! What PHP itself does, so that it is no finding: the file `known`.

use std::collections::BTreeSet;
use std::sync::Mutex;

use regex::Regex;

use crate::caller::Call;

#[derive(Debug)]
pub(crate) struct Known {
    rows: Vec<Regex>,
    /// The numbers of the rows that were met.
    met: Mutex<BTreeSet<usize>>,
}

impl Known {
    /// A row is a regular expression for the call (target, position, kind, action and number of the wait), a tab, and the reason.
    pub(crate) fn read() -> Self {
        let text = include_str!("known").lines();
        let rows = text
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .map(|line| {
                let (pattern, _) = line
                    .split_once('\t')
                    .expect("a pattern, a tab and a reason");
                Regex::new(&format!("^(?:{pattern})$")).expect("a regular expression")
            });
        Self {
            rows: rows.collect(),
            met: Mutex::default(),
        }
    }

    pub(crate) fn has(&self, call: &Call) -> bool {
        let call = call.to_string();
        let row = self.rows.iter().position(|row| row.is_match(&call));
        if let Some(row) = row {
            self.met.lock().expect("no panic").insert(row);
        }
        row.is_some()
    }
}
