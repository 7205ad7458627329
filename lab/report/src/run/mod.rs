//! A run of `hearth bench`: its command, its machine, and the measurements of each cell.
//!
//! These types are the published JSON. Fields are only ever added; a changed meaning gets a new [`SCHEMA`]. The JSON
//! contains no medians, intervals or ratios: they are computed from the repeats wherever they are shown.

mod machine;
mod repeat;
mod scenario;

pub use machine::{Host, Noise, Runtime, RuntimeKind};
pub use repeat::{Calibration, Repeat, Role, Use};
pub use scenario::{Cell, CellKey, Column, File, Scenario, Setting, Status};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "hearth-bench/1";

/// A run of `hearth bench`: its command, its machine, and the measurements of each cell.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Always `hearth-bench/1`.
    pub schema: String,
    /// Version of the program that measured.
    pub version: String,
    /// Start, seconds since 1970.
    pub started_unix_s: f64,
    /// Length of the run, seconds.
    pub elapsed_s: f64,
    /// The arguments of `hearth bench`.
    #[serde(default)]
    pub command: Vec<String>,
    /// How thorough the run was.
    #[serde(default)]
    pub effort: Effort,
    /// How cells were measured.
    #[serde(default)]
    pub plan: Plan,
    /// Why the run ended.
    #[serde(default)]
    pub stopped_by: StoppedBy,
    /// The machine that everything ran on.
    #[serde(default)]
    pub host: Host,
    /// How quiet the machine was.
    #[serde(default)]
    pub noise: Noise,
    /// Every server, database and proxy that `hearth bench` knows, installed or not.
    #[serde(default)]
    pub runtimes: Vec<Runtime>,
    /// The experiments.
    #[serde(default)]
    pub scenarios: Vec<Scenario>,
    /// Changes that would help the user's own app.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Remarks on the whole run.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How thorough a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Few and short repeats: whether it works, and roughly how fast.
    Quick,
    /// The whole matrix in minutes.
    #[default]
    Standard,
    /// Enough repeats for distribution-free intervals.
    Full,
}

/// How cells were measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Repeats of a cell at most, as planned for the first scenario; repeats of different cells take turns.
    pub rounds: u32,
    /// Length of a repeat as planned for the first scenario, seconds.
    pub seconds: f64,
    /// Load before each repeat that is not measured, seconds.
    pub warmup_s: f64,
    /// Seed of all random choices, the order of the cells included.
    pub seed: u64,
    /// Which processors the load and the servers had, as text; none if they shared all.
    #[serde(default)]
    pub pinned: Option<String>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// Everything was measured.
    #[default]
    Done,
    /// Ctrl-C or SIGTERM.
    Interrupt,
    /// The time limit (`--budget`) was reached.
    Budget,
}

/// A change to the user's own app or server, and the two cells that show its effect.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Name of the scenario with both cells.
    pub scenario: String,
    /// The change, such as `Run it resident`.
    pub title: String,
    /// The line to add or to edit.
    pub change: String,
    /// The cell without the change.
    pub base: CellKey,
    /// The cell with the change.
    pub with: CellKey,
}

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not of this shape.
    #[error("not a result of hearth bench: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another format, or another version of it.
    #[error(
        "its schema is {0:?}; this program reads {SCHEMA:?}: use the version of hearth that wrote it"
    )]
    Schema(String),
    /// JSON without a schema, which is another kind of file.
    #[error("not a result of hearth bench: it names no schema")]
    NoSchema,
}

impl Run {
    /// Parses the text that [`Run::json`] returns.
    ///
    /// # Errors
    /// If `text` is no result of `hearth bench`, or one of another format.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let schema = value["schema"].as_str().ok_or(ReadError::NoSchema)?;
        if schema != SCHEMA {
            return Err(ReadError::Schema(schema.to_owned()));
        }
        Ok(serde_json::from_value(value)?)
    }

    /// Returns the run as JSON, in the format of the schema.
    #[must_use]
    pub fn json(&self) -> String {
        // Cannot fail: every map has strings or numbers as keys.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Returns the runtime with that id.
    #[must_use]
    pub fn runtime(&self, id: &str) -> Option<&Runtime> {
        self.runtimes.iter().find(|runtime| runtime.id == id)
    }

    /// Returns the scenario of that name.
    #[must_use]
    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }
}

impl Run {
    /// Returns the fewest and the most repeats of a completely measured cell, and the shortest and the longest repeat in
    /// seconds; the planned values if there is no such cell.
    #[must_use]
    pub fn repeats(&self) -> ((u32, u32), (f64, f64)) {
        let cells = self.scenarios.iter().flat_map(|one| &one.cells);
        let measured = cells.filter(|cell| cell.status == Status::Measured);
        let counts = measured.map(|cell| u32::try_from(cell.repeats.len()).unwrap_or(u32::MAX));
        let rounds = counts.clone().min().zip(counts.max());
        let lengths = self.scenarios.iter().map(|one| one.seconds);
        let lengths = lengths.filter(|seconds| *seconds > 0.0);
        let shortest = lengths.clone().reduce(f64::min);
        (
            rounds.unwrap_or((self.plan.rounds, self.plan.rounds)),
            shortest
                .zip(lengths.reduce(f64::max))
                .unwrap_or((self.plan.seconds, self.plan.seconds)),
        )
    }
}
