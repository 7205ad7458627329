//! The measurements of a run: scenarios, their cells, and the status of each cell.

use super::Repeat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One experiment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Name on the command line.
    pub name: String,
    /// Title in reports.
    pub title: String,
    /// What the figures show.
    pub shows: String,
    /// File name of the write-up that the experiment repeats.
    #[serde(default)]
    pub seed: Option<String>,
    /// What `x` of the cells counts in a sweep: `workers` or `connections`.
    #[serde(default)]
    pub axis: Option<String>,
    /// `id` of the database that the app queries, if it queries one.
    #[serde(default)]
    pub database: Option<String>,
    /// Hash of the body that every runtime sends.
    #[serde(default)]
    pub body_sha256: Option<String>,
    /// Length of the body that every runtime sends.
    #[serde(default)]
    pub body_bytes: u64,
    /// Method and path of each request.
    #[serde(default)]
    pub requests: Vec<String>,
    /// How the load was generated, as text.
    #[serde(default)]
    pub loops: String,
    /// Length of a repeat, seconds, as the time limit allowed it. A cell's load may have a length of its own.
    #[serde(default)]
    pub seconds: f64,
    /// Whether this is the user's own app.
    #[serde(default)]
    pub app: bool,
    /// The cells, with their measurements or the reason why there are none.
    pub cells: Vec<Cell>,
    /// Remarks on the scenario.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One server under one load. Its [`CellKey`] distinguishes it from the other cells of its scenario.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// `id` of the runtime.
    pub runtime: String,
    /// How the cell differs from the runtime's other cells, such as `pdo`; empty for the plain one.
    #[serde(default)]
    pub variant: String,
    /// How the server is configured.
    #[serde(default)]
    pub column: Column,
    /// The variant that the cell is compared with, if that is not the first.
    #[serde(default)]
    pub against: Option<String>,
    /// Value on the axis of a sweep.
    #[serde(default)]
    pub x: Option<f64>,
    /// Connections of the load.
    pub connections: u32,
    /// Processes or threads that run the app.
    #[serde(default)]
    pub workers: Option<u32>,
    /// Whether connections are reused.
    pub keep_alive: bool,
    /// Whether the cell has figures, and if not, why.
    pub status: Status,
    /// Effective settings, read back from the server.
    #[serde(default)]
    pub config: Vec<Setting>,
    /// Configuration files that were written for the server; `…` stands for the folder of the run, which is deleted.
    #[serde(default)]
    pub files: Vec<File>,
    /// Figures read after the load, such as preloaded classes and queries that the database counted.
    #[serde(default)]
    pub observed: Vec<Setting>,
    /// The measurements, in the order in which they were taken.
    #[serde(default)]
    pub repeats: Vec<Repeat>,
    /// What kept the rate from being twice as high.
    #[serde(default)]
    pub limit: Option<String>,
    /// Remarks on the cell.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What distinguishes a cell from the others of its scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellKey {
    /// `id` of the runtime.
    pub runtime: String,
    /// How the cell differs from the runtime's other cells.
    #[serde(default)]
    pub variant: String,
    /// How the server is configured.
    #[serde(default)]
    pub column: Column,
    /// Value on the axis of a sweep.
    #[serde(default)]
    pub x: Option<f64>,
    /// Connections of the load.
    pub connections: u32,
}

/// How a server is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// As the server's maintainers advise for this work.
    #[default]
    Fair,
    /// As the write-up configured it.
    AsSeed,
}

/// A setting or a figure, with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name of the setting or the figure.
    pub name: String,
    /// Value, as text.
    pub value: String,
}

/// A file that was written for a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// Name of the file.
    pub name: String,
    /// Content of the file.
    pub text: String,
}

/// Whether a cell has figures, and if not, why.
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
    /// The server did not start, sent wrong responses, or crashed.
    Failed {
        /// What happened.
        why: String,
    },
    /// The runtime is not installed.
    NotInstalled {
        /// What was looked for.
        why: String,
        /// How to install it.
        how: String,
    },
    /// The experiment makes no sense on this server or machine.
    NotApplicable {
        /// The reason.
        why: String,
    },
}

impl Default for Status {
    fn default() -> Self {
        Self::Unfinished {
            why: "the run ended before it was measured".to_owned(),
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
