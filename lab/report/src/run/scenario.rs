//! The measurements of a run: scenarios, their cells, and the status of each cell.

use super::Repeat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One experiment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Name on the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What its figures say.
    pub shows: String,
    /// File name of the write-up that it repeats.
    #[serde(default)]
    pub seed: Option<String>,
    /// What `x` of the cells counts, if this is a sweep: `workers` or `connections`.
    #[serde(default)]
    pub axis: Option<String>,
    /// `id` of the database that its app asks, if it asks one.
    #[serde(default)]
    pub database: Option<String>,
    /// Hash of the body that every runtime sends.
    #[serde(default)]
    pub body_sha256: Option<String>,
    /// Length of that body.
    #[serde(default)]
    pub body_bytes: u64,
    /// Method and path of each request.
    #[serde(default)]
    pub requests: Vec<String>,
    /// How load was made, in words.
    #[serde(default)]
    pub loops: String,
    /// Length of a repeat, seconds, unless a cell's load has its own: what fitted into the time.
    #[serde(default)]
    pub seconds: f64,
    /// True for the user's own app.
    #[serde(default)]
    pub app: bool,
    /// What was measured, or why not.
    pub cells: Vec<Cell>,
    /// Remarks.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One server under one load. It is told apart from the others of its scenario by its [`CellKey`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// `id` of the runtime.
    pub runtime: String,
    /// What else is special, such as `pdo`; empty if nothing is.
    #[serde(default)]
    pub variant: String,
    /// How the server is configured.
    #[serde(default)]
    pub column: Column,
    /// The variant that it is compared with, if that is not the first.
    #[serde(default)]
    pub against: Option<String>,
    /// Place on the axis of a sweep.
    #[serde(default)]
    pub x: Option<f64>,
    /// Connections of the load.
    pub connections: u32,
    /// Processes or threads that run the app.
    #[serde(default)]
    pub workers: Option<u32>,
    /// Whether connections are reused.
    pub keep_alive: bool,
    /// Whether there are figures.
    pub status: Status,
    /// Effective settings, as read back from the server.
    #[serde(default)]
    pub config: Vec<Setting>,
    /// Configuration files that were made for it; `…` stands for the run's own folder, which is gone.
    #[serde(default)]
    pub files: Vec<File>,
    /// What was read back after the load: classes preloaded, queries that the database counted.
    #[serde(default)]
    pub observed: Vec<Setting>,
    /// The measurements, in the order they were taken.
    #[serde(default)]
    pub repeats: Vec<Repeat>,
    /// "Why not double?": what kept the rate from being twice as high.
    #[serde(default)]
    pub limit: Option<String>,
    /// Remarks.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What tells a cell from the others of its scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellKey {
    /// `id` of the runtime.
    pub runtime: String,
    /// What else is special.
    #[serde(default)]
    pub variant: String,
    /// How the server is configured.
    #[serde(default)]
    pub column: Column,
    /// Place on the axis of a sweep.
    #[serde(default)]
    pub x: Option<f64>,
    /// Connections of the load.
    pub connections: u32,
}

/// How a server is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// As its maintainers advise for this work.
    #[default]
    Fair,
    /// As the write-up ran it.
    AsSeed,
}

/// A setting and its value, or a figure and what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A file that was made for a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Whether a cell has figures, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Status {
    /// All repeats were taken.
    Measured,
    /// Some or all repeats are missing.
    Unfinished {
        /// What happened.
        why: String,
    },
    /// The server did not start, gave wrong answers, or died.
    Failed {
        /// What happened.
        why: String,
    },
    /// The runtime is not here.
    NotInstalled {
        /// What was looked for.
        why: String,
        /// How to get it.
        how: String,
    },
    /// The experiment makes no sense there.
    NotApplicable {
        /// Why.
        why: String,
    },
}

impl Default for Status {
    fn default() -> Self {
        Self::Unfinished {
            why: "its turn did not come".to_owned(),
        }
    }
}

impl Scenario {
    /// Returns the cell of that key.
    #[must_use]
    pub fn cell(&self, key: &CellKey) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.key() == *key)
    }
}

impl Cell {
    /// Returns the key that distinguishes the cell from the others of its scenario.
    #[must_use]
    pub fn key(&self) -> CellKey {
        CellKey {
            runtime: self.runtime.clone(),
            variant: self.variant.clone(),
            column: self.column,
            x: self.x,
            connections: self.connections,
        }
    }
}

impl Status {
    /// Returns why figures are missing; none if all repeats were taken.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Measured => None,
            Self::Unfinished { why }
            | Self::Failed { why }
            | Self::NotInstalled { why, .. }
            | Self::NotApplicable { why } => Some(why),
        }
    }

    /// Returns the status as one or two words.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Unfinished { .. } => "unfinished",
            Self::Failed { .. } => "failed",
            Self::NotInstalled { .. } => "not installed",
            Self::NotApplicable { .. } => "not applicable",
        }
    }
}
