//! One measurement of a cell, and what the processes used during it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One measurement of a cell.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// Number of the round: repeats of different cells in one round were taken one after the other.
    pub block: u32,
    /// Position in the order of the round.
    pub order: u32,
    /// What the load generator measured.
    pub load: measure::Run,
    /// What the processes of the server, the proxy and the database used.
    #[serde(default)]
    pub cpu: Vec<Use>,
    /// Speed of the machine just before the repeat.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Why the repeat is doubtful: another process used the processors, or the machine was slower or faster than usual.
    #[serde(default)]
    pub noisy: Option<String>,
}

/// Duration of a fixed piece of work, which shows whether the machine has become slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Duration of a fixed computation, microseconds; the shortest of several attempts.
    pub compute_us: f64,
    /// Duration of a fixed exchange of bytes over the loopback interface, microseconds; the shortest of several attempts.
    pub loopback_us: f64,
}

/// What a process does in a repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs the app.
    #[default]
    Server,
    /// Forwards requests to the server.
    Proxy,
    /// Answers the queries of the app.
    Database,
    /// Generates the load.
    Client,
}

/// What the processes of one role used during a repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// Role of the processes.
    pub role: Role,
    /// Name of the program.
    pub name: String,
    /// Number of processes.
    pub processes: u32,
    /// Processor time per finished request, microseconds.
    pub cpu_us_per_request: f64,
    /// Share of the processor time outside the kernel, 0 to 1.
    pub user_share: f64,
    /// Context switches per finished request, voluntary and involuntary.
    pub switches_per_request: f64,
    /// Involuntary context switches per finished request.
    pub involuntary_per_request: f64,
    /// Proportional set size: memory, with shared pages divided among the processes that share them.
    pub pss_bytes: u64,
    /// Processors used on average.
    pub cores: f64,
}
