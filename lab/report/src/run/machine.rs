//! The machine of a run, and the servers and databases on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine of a run.
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
    /// Size of the memory, bytes.
    pub memory_bytes: u64,
    /// Frequency governor of the processors.
    #[serde(default)]
    pub governor: Option<String>,
    /// Hypervisor, if there is one.
    #[serde(default)]
    pub virtual_machine: Option<String>,
    /// Version and origin of PHP.
    pub php: String,
}

/// How much other work the machine had. Shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Share of all processors' time that other processes used before the run.
    pub others_before: f64,
    /// Pressure stall information before the run: share of time in which a process waited for a processor.
    #[serde(default)]
    pub psi_some_before: Option<f64>,
    /// Share of all processors' time that the hypervisor took away during the run (steal).
    pub steal: f64,
    /// Load average over one minute before the run.
    pub load_average: f64,
    /// How much the rate of the same server, measured twice, differed, as a share.
    #[serde(default)]
    pub aa_floor: Option<f64>,
    /// Requests per second that the load generator can send at most on this machine.
    #[serde(default)]
    pub client_ceiling: Option<f64>,
    /// Remarks on what disturbed the run.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A server, database or proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Runtime {
    /// Short name, such as `hearth` or `apache`.
    pub id: String,
    /// Name in reports.
    pub name: String,
    /// What the runtime does.
    #[serde(default)]
    pub kind: RuntimeKind,
    /// Version, if it is installed.
    #[serde(default)]
    pub version: Option<String>,
    /// Path of the program.
    #[serde(default)]
    pub path: Option<String>,
    /// Why it counts as not installed.
    #[serde(default)]
    pub missing: Option<String>,
    /// How to install it.
    #[serde(default)]
    pub how: Option<String>,
}

/// What a runtime does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuntimeKind {
    /// Runs the app.
    #[default]
    Server,
    /// Answers queries.
    Database,
    /// Forwards requests to a server.
    Proxy,
}
