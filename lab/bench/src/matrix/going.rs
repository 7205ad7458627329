//! One server of a scenario while it is measured: its cells, and why it is out if it is.

use crate::problem::Problem;
use crate::runtimes::{Found, Manner, Tools, setting};
use crate::scenarios::{Arm, Shape};
use report::{Cell, Repeat, Status};
use std::path::PathBuf;

/// An arm of a scenario as it goes.
pub(super) struct Going {
    pub(super) arm: Arm,
    /// Where the server is, or why there is none.
    pub(super) program: std::result::Result<PathBuf, Status>,
    pub(super) cells: Vec<Cell>,
}

/// What the database says that it was asked.
const QUERIES: &str = "queries per request, counted by the database";

impl Going {
    /// Finds the arm's server.
    pub(super) fn of(arm: Arm, tools: &Tools) -> Self {
        let program = match (&arm.impossible, tools.find(arm.runtime)) {
            (Some(why), _) => Err(Status::NotApplicable { why: why.clone() }),
            (None, Found::Here { path, .. }) => Ok(path),
            (None, Found::Missing { why, how }) => Err(Status::NotInstalled { why, how }),
        };
        let status = program.as_ref().err().cloned().unwrap_or_default();
        let cells = arm
            .loads
            .iter()
            .map(|load| cell(&arm, load, status.clone()))
            .collect();
        Self {
            arm,
            program,
            cells,
        }
    }

    /// Nothing of it can be measured.
    pub(super) fn refuse(&mut self, why: &str) {
        if self.program.is_ok() {
            self.fail(&Status::Failed {
                why: why.to_owned(),
            });
        }
    }

    /// It failed: what it has is kept, and it gets no further turn.
    pub(super) fn end(&mut self, problem: &Problem) {
        if *problem != Problem::Interrupted {
            self.fail(&Status::Failed {
                why: problem.to_string(),
            });
        }
    }

    fn fail(&mut self, status: &Status) {
        self.program = Err(status.clone());
        for cell in &mut self.cells {
            if !matches!(cell.status, Status::Failed { .. }) {
                cell.status = status.clone();
            }
        }
    }

    /// Its cells, each with what became of it; `why` is what ended the scenario early, if that did.
    pub(super) fn finish(self, rounds: usize, why: &str, processors: usize) -> Vec<Cell> {
        let slots = slots(&self.arm);
        let finish = |mut cell: Cell| {
            if cell.repeats.len() >= rounds {
                cell.status = Status::Measured;
            } else if matches!(cell.status, Status::Unfinished { .. }) {
                cell.status = Status::Unfinished {
                    why: format!("{why} after {} of {rounds} rounds", cell.repeats.len()),
                };
            }
            cell.limit = cell
                .repeats
                .last()
                .map(|last: &Repeat| crate::limit::limit(&last.load, &last.cpu, processors, slots));
            cell
        };
        self.cells.into_iter().map(finish).collect()
    }
}

fn cell(arm: &Arm, load: &Shape, status: Status) -> Cell {
    let variants = [arm.variant.as_str(), load.variant.as_str()];
    Cell {
        runtime: arm.runtime.id().to_owned(),
        variant: variants
            .into_iter()
            .filter(|variant| !variant.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        against: arm.against.clone(),
        column: arm.column,
        x: load.x.or(arm.x),
        connections: load.connections,
        workers: Some(arm.workers),
        keep_alive: load.keep_alive,
        status,
        ..Cell::default()
    }
}

/// One cell for each server that is not here or cannot take part: it says all that its others would.
pub(super) fn once_each(going: Vec<Going>) -> Vec<Going> {
    let mut kept: Vec<Going> = Vec::new();
    for mut one in going {
        let says_the_same = |other: &Going| {
            other.arm.runtime.id() == one.arm.runtime.id()
                && other.program.is_err()
                && other.program.as_ref().err() == one.program.as_ref().err()
        };
        if one.program.is_err() {
            if kept.iter().any(says_the_same) {
                continue;
            }
            one.cells.truncate(1);
        }
        kept.push(one);
    }
    kept
}

/// Requests that can run at a time, if each has a process of its own.
fn slots(arm: &Arm) -> Option<u32> {
    let blocks = arm.runtime.manner() == Manner::OneAtATime && arm.runtime.id() != "apache";
    blocks.then_some(arm.workers)
}

/// "Did it even happen": what the database counted beside what was answered.
pub(super) fn note_queries(
    cell: &mut Cell,
    before: Option<u64>,
    after: Option<u64>,
    requests: u64,
) {
    if let (Some(before), Some(after)) = (before, after) {
        let asked = after.saturating_sub(before);
        let counted = asked as f64 / requests.max(1) as f64;
        cell.observed.retain(|one| one.name != QUERIES);
        cell.observed
            .push(setting(QUERIES, format!("{counted:.2}")));
    }
}
