//! A server of a scenario during its measurements: its cells, or why it is excluded.

use crate::database::{Database, Kind};
use crate::load::Load;
use crate::problem::{Problem, Result};
use crate::request_count::{self, Counter};
use crate::runtimes::{Form, Found, Manner, Server, Tools, setting};
use crate::scenarios::{Arm, Shape};
use crate::trial::{Trials, Turn};
use report::cell::Metric;
use report::{Cell, Repeat, Status};
use std::path::PathBuf;

/// An arm of a scenario during its measurements.
pub(super) struct ArmRun {
    pub(super) arm: Arm,
    /// The path of the server, or why it is not measured.
    pub(super) program: std::result::Result<PathBuf, Status>,
    pub(super) cells: Vec<Cell>,
}

/// Returns why a server cannot do the scenario's work on that database.
fn cannot(arm: &Arm, database: Option<Kind>) -> Option<&'static str> {
    match database {
        Some(Kind::Sqlite) if arm.waits => {
            Some("SQLite has no query that takes its time: install MariaDB (hearth bench doctor)")
        }
        Some(Kind::Sqlite) if arm.runtime.form() == Form::Native => {
            Some("bench/runtimes/gin has no driver for SQLite")
        }
        _ => None,
    }
}

/// The setting that shows the requests counted by the server.
const REQUESTS: &str =
    "requests counted by the server, of those that the load generator got answers to";
/// The setting that shows the queries counted by the database.
const QUERIES: &str = "queries per request, counted by the database";

/// The setting that shows the header fields of the server's responses.
const FIELDS: &str = "header fields of an answer";
/// A rate is known well enough when its interval ends within this share of it.
const WIDE: f64 = 0.03;

/// Returns the servers that need another round, and those that they are compared with: ratios are made of pairs of one
/// round.
pub(super) fn wide(arms: &[ArmRun]) -> Vec<usize> {
    let id = |at: usize| arms[at].arm.runtime.id();
    let is_wide = |at: &usize| arms[*at].program.is_ok() && arms[*at].is_wide();
    let wide: Vec<usize> = (0..arms.len()).filter(is_wide).collect();
    // The scenario's first server, and the first variant of the same server.
    let first = |of: usize| (0..arms.len()).find(|at| id(*at) == id(of));
    let bases = wide.iter().flat_map(|at| [Some(0), first(*at)]).flatten();
    let bases: Vec<usize> = bases.filter(|at| arms[*at].program.is_ok()).collect();
    let mut all = [wide, bases].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Measures once and keeps the repeat, or why there is none.
pub(super) fn keep<'cell>(
    cell: &'cell mut Cell,
    trials: &Trials<'_>,
    load: &Load,
    server: &mut Server,
    database: Option<&Database>,
    turn: Turn,
) -> Result<&'cell Repeat> {
    let before = database.and_then(Database::questions);
    let counter = server.counter.clone();
    let counted = counter.as_ref().and_then(Counter::read);
    match trials.measure(load, server, database, turn) {
        Ok(repeat) => {
            if let Some((counter, counted)) = counter.zip(counted) {
                note_count(cell, &counter, counted, &repeat.load);
            }
            let after = database.and_then(Database::questions);
            note_queries(cell, before, after, repeat.load.finished());
            cell.repeats.push(repeat);
            Ok(&cell.repeats[cell.repeats.len() - 1])
        }
        Err(problem) => {
            if problem != Problem::Interrupted {
                cell.status = Status::Failed {
                    why: problem.to_string(),
                };
            }
            Err(problem)
        }
    }
}

impl ArmRun {
    /// Looks for the arm's server.
    pub(super) fn of(arm: Arm, tools: &Tools, database: Option<Kind>) -> Self {
        let impossible = arm.impossible.clone();
        let impossible = impossible.or_else(|| cannot(&arm, database).map(str::to_owned));
        let program = match (impossible, tools.find(arm.runtime)) {
            (Some(why), _) => Err(Status::NotApplicable { why }),
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

    /// Excludes the server, with the reason `why`.
    pub(super) fn refuse(&mut self, why: &str) {
        if self.program.is_ok() {
            self.fail(&Status::Failed {
                why: why.to_owned(),
            });
        }
    }

    /// Notes the header fields of the server's responses, once.
    pub(super) fn note_fields(&mut self, fields: String) {
        for cell in &mut self.cells {
            if cell.config.iter().all(|one| one.name != FIELDS) {
                cell.config.push(setting(FIELDS, &fields));
            }
        }
    }

    /// Returns whether the interval of one of its rates is wider than three percent to each side.
    fn is_wide(&self) -> bool {
        let mut rates = self
            .cells
            .iter()
            .filter_map(|cell| cell.figure(&Metric::Goodput));
        rates.any(|rate| rate.high - rate.low > 2.0 * WIDE * rate.value)
    }

    /// Excludes the server after a failure: its repeats are kept, and it gets no further turn.
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

    /// Returns the cells with their status; `why` is what ended the scenario early, if it did.
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
            if !cell.repeats.is_empty() && !cell.has_figures() {
                cell.status = Status::Failed {
                    why: "no request was answered while it was measured".to_owned(),
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
    let key = arm.key(load);
    // Loads of one arm that have a name are compared with the same load of the other variant.
    let against = arm
        .against
        .as_ref()
        .map(|variant| match load.variant.as_str() {
            "" => variant.clone(),
            own => format!("{variant}, {own}"),
        });
    Cell {
        runtime: key.runtime,
        variant: key.variant,
        against,
        column: key.column,
        x: key.x,
        connections: key.connections,
        workers: Some(arm.workers),
        keep_alive: load.keep_alive,
        status,
        ..Cell::default()
    }
}

/// Keeps one cell of each server that is missing or cannot take part: its other cells would say the same.
pub(super) fn once_each(arms: Vec<ArmRun>) -> Vec<ArmRun> {
    let mut kept: Vec<ArmRun> = Vec::new();
    for mut one in arms {
        let has_same_error = |other: &ArmRun| {
            other.arm.runtime.id() == one.arm.runtime.id()
                && other.program.is_err()
                && other.program.as_ref().err() == one.program.as_ref().err()
        };
        if one.program.is_err() {
            if kept.iter().any(has_same_error) {
                continue;
            }
            one.cells.truncate(1);
        }
        kept.push(one);
    }
    kept
}

/// Returns how many requests can run at a time, if each has a process of its own.
fn slots(arm: &Arm) -> Option<u32> {
    let blocks = arm.runtime.manner() == Manner::OneAtATime && arm.runtime.id() != "apache";
    blocks.then_some(arm.workers)
}

/// Notes the requests that the server counted beside those that the load had responses to ("did it even happen").
fn note_count(cell: &mut Cell, counter: &Counter, before: u64, load: &measure::Run) {
    let Some(after) = counter.read() else {
        return;
    };
    let counted = counter.between(before, after);
    let (sent, under_way) = (
        load.finished(),
        load.counts.unfinished + u64::from(cell.connections),
    );
    cell.observed.retain(|one| one.name != REQUESTS);
    cell.observed
        .push(setting(REQUESTS, format!("{counted} of {sent}")));
    cell.notes
        .extend(request_count::mismatch(sent, under_way, counted));
}

/// Notes the queries that the database counted per request ("did it even happen").
fn note_queries(cell: &mut Cell, before: Option<u64>, after: Option<u64>, requests: u64) {
    if let (Some(before), Some(after)) = (before, after) {
        let queries = after.saturating_sub(before);
        let counted = queries as f64 / requests.max(1) as f64;
        cell.observed.retain(|one| one.name != QUERIES);
        cell.observed
            .push(setting(QUERIES, format!("{counted:.2}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::Content;
    use crate::runtimes::by_id;
    use crate::scenarios::{Around, Work};

    fn arms(id: &str, rates: [f64; 6]) -> ArmRun {
        let around = Around {
            runtimes: &[],
            processors: 1,
            connections: 100,
        };
        let runtime = by_id(id).expect("a server");
        let repeat = |rate: f64| {
            let mut repeat = Repeat::default();
            repeat.load.rates.goodput = rate;
            repeat.load.counts.good = 10;
            repeat
        };
        let cell = Cell {
            runtime: id.to_owned(),
            repeats: rates.map(repeat).into(),
            ..Cell::default()
        };
        ArmRun {
            arm: Arm::fair(runtime, Work::Computes, &around, Content::default()),
            program: Ok(PathBuf::new()),
            cells: vec![cell],
        }
    }

    #[test]
    fn what_spreads_is_measured_again_with_what_it_is_compared_with() {
        const STEADY: [f64; 6] = [1000.0, 1010.0, 995.0, 1005.0, 990.0, 1000.0];
        const WIDE: [f64; 6] = [1000.0, 1200.0, 995.0, 1005.0, 800.0, 1000.0];
        let steady = [arms("hearth", STEADY), arms("fpm", STEADY)];
        assert!(wide(&steady).is_empty());
        let mut all = vec![
            arms("hearth", STEADY),
            arms("fpm", STEADY),
            arms("apache", STEADY),
            arms("apache", WIDE),
        ];
        assert_eq!(wide(&all), [0, 2, 3]);
        all[0].program = Err(Status::default());
        assert_eq!(wide(&all), [2, 3], "what has failed has no further turn");
    }
}
