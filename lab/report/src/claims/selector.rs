//! The selection of the cells that a claim is checked against.

use crate::{Cell, CellKey, Column, Run, Scenario, Status};
use serde::Deserialize;

/// A selector of a cell: the first scenario and runtime of the lists that have figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selector {
    pub(super) scenarios: Vec<String>,
    runtimes: Vec<String>,
    #[serde(default)]
    variant: String,
    #[serde(default)]
    column: Column,
    connections: Option<u32>,
}

impl Selector {
    /// Returns the selected cell, or why there is none with figures.
    pub(super) fn cell<'run>(
        &self,
        run: &'run Run,
    ) -> Result<(&'run Scenario, &'run Cell), String> {
        let mut why = None;
        for name in &self.scenarios {
            let Some(scenario) = run.scenario(name) else {
                continue;
            };
            for runtime in &self.runtimes {
                for cell in scenario
                    .cells
                    .iter()
                    .filter(|cell| self.fits(&cell.key(), runtime))
                {
                    if cell.has_figures() {
                        return Ok((scenario, cell));
                    }
                    if cell.status.was_tried() || why.is_none() {
                        why = Some(missing(run, cell));
                    }
                }
            }
        }
        Err(why.unwrap_or_else(|| format!("not part of this run: {}", self.words())))
    }

    fn fits(&self, cell: &CellKey, runtime: &str) -> bool {
        cell.runtime == *runtime
            && cell.variant == self.variant
            && cell.column == self.column
            && self.connections.is_none_or(|one| one == cell.connections)
    }

    /// Returns whether the cell at `at` would be selected if all cells had figures.
    pub(super) fn picks(&self, scenario: &str, cells: &[CellKey], at: usize) -> bool {
        let has = |runtime: &&String| cells.iter().any(|cell| self.fits(cell, runtime));
        self.scenarios.iter().any(|name| name == scenario)
            && self
                .runtimes
                .iter()
                .find(has)
                .is_some_and(|runtime| self.fits(&cells[at], runtime))
    }

    fn words(&self) -> String {
        let mut words = self.scenarios.first().cloned().unwrap_or_default();
        if !self.variant.is_empty() {
            words += &format!(", {}", self.variant);
        }
        if let Some(connections) = self.connections {
            words += &format!(", {connections} connections");
        }
        words
    }
}

pub(super) fn missing(run: &Run, cell: &Cell) -> String {
    let name = run
        .runtime(&cell.runtime)
        .map_or(&cell.runtime, |one| &one.name);
    match &cell.status {
        Status::Measured => format!("{name}: no such figure"),
        status => format!(
            "{name}: {}: {}",
            status.name(),
            status.why().unwrap_or_default()
        ),
    }
}

/// Returns the origin of a figure: runtime, variant and scenario.
pub(super) fn place(run: &Run, scenario: &Scenario, cell: &Cell) -> String {
    format!("{} ({})", name(run, cell), of(scenario))
}

/// Returns runtime and variant, and the load if that is the write-up's.
pub(super) fn name(run: &Run, cell: &Cell) -> String {
    let mut text = crate::words::runtime_name(run, &cell.runtime).to_owned();
    if !cell.variant.is_empty() {
        text += &format!(", {}", cell.variant);
    }
    if cell.column == Column::AsSeed {
        text += &format!(", as in the write-up, {} connections", cell.connections);
    }
    text
}

/// Returns the scenario, and its database if that is not the write-ups' kind.
pub(super) fn of(scenario: &Scenario) -> String {
    let on = match scenario.database.as_deref() {
        Some("sqlite") => ", on SQLite",
        _ => "",
    };
    format!("{}{on}", scenario.name)
}
