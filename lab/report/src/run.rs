//! A run of `hearth bench`: what was asked, on which machine, and what each cell measured.
//!
//! This is the published JSON. A field is only ever added; a changed meaning gets a new [`SCHEMA`]. Medians, intervals and
//! ratios are not in it: they are computed from the repeats wherever they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "hearth-bench/1";

/// Everything that one `hearth bench` did.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Always `hearth-bench/1`.
    pub schema: String,
    /// Version of the program that measured.
    pub version: String,
    /// Start, seconds since 1970.
    pub started_unix_s: f64,
    /// From the start to the end.
    pub elapsed_s: f64,
    /// The words after `hearth bench`.
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
    /// The machine.
    #[serde(default)]
    pub host: Host,
    /// How quiet the machine was.
    #[serde(default)]
    pub noise: Noise,
    /// Every known server, database and proxy, found or not.
    #[serde(default)]
    pub runtimes: Vec<Runtime>,
    /// What was measured.
    #[serde(default)]
    pub scenarios: Vec<Scenario>,
    /// What would help the user's own app.
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
    /// Short and few repeats: does it work, and roughly how fast.
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
    /// Most repeats of a cell, interleaved with those of the others: as planned for the first scenario.
    pub rounds: u32,
    /// Length of one repeat, seconds: as planned for the first scenario.
    pub seconds: f64,
    /// Load before it that is left out, seconds.
    pub warmup_s: f64,
    /// Seed of every random choice, the order included.
    pub seed: u64,
    /// Which processors the load and the servers had, in words; none if they shared all.
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
    /// The time given was over.
    Budget,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system and kernel.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Number of processors.
    pub processors: usize,
    /// Memory.
    pub memory_bytes: u64,
    /// Frequency governor.
    #[serde(default)]
    pub governor: Option<String>,
    /// Hypervisor, if there is one.
    #[serde(default)]
    pub virtual_machine: Option<String>,
    /// PHP's version and where it is from.
    pub php: String,
}

/// How quiet the machine was. Shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Share of all processors that other processes used before the run.
    pub others_before: f64,
    /// Pressure stall information before the run: share of time in which a process waited for a processor.
    #[serde(default)]
    pub psi_some_before: Option<f64>,
    /// Share that the hypervisor took away during the run.
    pub steal: f64,
    /// Load average over one minute before the run.
    pub load_average: f64,
    /// How much the same server differed from itself, as a share.
    #[serde(default)]
    pub aa_floor: Option<f64>,
    /// What the load generator can do at most here, requests per second.
    #[serde(default)]
    pub client_ceiling: Option<f64>,
    /// What was noticed.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A server, database or proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Runtime {
    /// Short name, such as `hearth` or `apache`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub kind: RuntimeKind,
    /// Its version, if it is here.
    #[serde(default)]
    pub version: Option<String>,
    /// Where its program is.
    #[serde(default)]
    pub path: Option<String>,
    /// Why it is not here.
    #[serde(default)]
    pub missing: Option<String>,
    /// How to get it.
    #[serde(default)]
    pub how: Option<String>,
}

/// What a runtime is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuntimeKind {
    /// Runs the app.
    #[default]
    Server,
    /// Answers queries.
    Database,
    /// Stands in front of a server.
    Proxy,
}

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

/// One measurement of a cell.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// Round: repeats of different cells with the same number were taken one after the other.
    pub block: u32,
    /// Place in the order of its round.
    pub order: u32,
    /// What the load generator measured.
    pub load: measure::Run,
    /// What the processes of the server, the proxy and the database used.
    #[serde(default)]
    pub cpu: Vec<Use>,
    /// Why this repeat is doubtful: another process needed the processors.
    #[serde(default)]
    pub noisy: Option<String>,
}

/// What processes are there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// They run the app.
    #[default]
    Server,
    /// They stand in front of it.
    Proxy,
    /// They answer its queries.
    Database,
    /// They make the load.
    Client,
}

/// What the processes of one role used during a repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// Their role.
    pub role: Role,
    /// Name of the program.
    pub name: String,
    /// How many there are.
    pub processes: u32,
    /// Processor time per finished request.
    pub cpu_us_per_request: f64,
    /// Share of it that is not the kernel's, 0 to 1.
    pub user_share: f64,
    /// Context switches per finished request, voluntary or not.
    pub switches_per_request: f64,
    /// Those that the kernel forced.
    pub involuntary_per_request: f64,
    /// Memory, shared pages divided among those that share them.
    pub pss_bytes: u64,
    /// Processors used on average.
    pub cores: f64,
}

/// A change to the user's own app or server, and the two cells that show what it is worth.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Name of the scenario with both cells.
    pub scenario: String,
    /// What to do, such as `Run it resident`.
    pub title: String,
    /// The line to change.
    pub change: String,
    /// Without it.
    pub base: CellKey,
    /// With it.
    pub with: CellKey,
}

/// Why a file cannot be read.
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
}

impl Run {
    /// Reads what [`Run::json`] wrote.
    ///
    /// # Errors
    /// If `text` is no result of `hearth bench`, or one of another format.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let schema = value["schema"].as_str().unwrap_or_default();
        if schema != SCHEMA {
            return Err(ReadError::Schema(schema.to_owned()));
        }
        Ok(serde_json::from_value(value)?)
    }

    /// The run as JSON, as the schema has it.
    #[must_use]
    pub fn json(&self) -> String {
        // Cannot fail: every map has strings or numbers as keys.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// The runtime with that id.
    #[must_use]
    pub fn runtime(&self, id: &str) -> Option<&Runtime> {
        self.runtimes.iter().find(|runtime| runtime.id == id)
    }

    /// The scenario of that name.
    #[must_use]
    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }
}

impl Run {
    /// The fewest and the most repeats of a cell that was measured to its end, and the shortest and the longest of them; as planned where
    /// there is none.
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

impl Scenario {
    /// The cell of that key.
    #[must_use]
    pub fn cell(&self, key: &CellKey) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.key() == *key)
    }
}

impl Cell {
    /// What tells it from the others of its scenario.
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
    /// Why there are no figures, or not all; none if there are.
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

    /// In two words.
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
