//! One measurement of a cell, and what the processes used during it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// How fast the machine was just before.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Why this repeat is doubtful: another process needed the processors.
    #[serde(default)]
    pub noisy: Option<String>,
}

/// How long a fixed piece of work took: if the machine becomes slower, this does too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Computing, µs: the shortest of several times.
    pub compute_us: f64,
    /// Bytes sent to and fro over the loopback interface, µs: the shortest of several times.
    pub loopback_us: f64,
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
