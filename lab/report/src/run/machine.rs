//! The machine of a run, and the servers and databases on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
