//! One load run: its setup, its measurements, and its cost.
//!
//! These types are the published JSON. Fields are only ever added; a changed meaning gets a new [`SCHEMA`]. Durations are
//! microseconds (`_us`) or seconds (`_s`).

mod cost;
mod measured;
mod outcome;
mod setup;

use crate::Distribution;
use crate::diagnose::Verdict;
pub use cost::*;
pub use measured::*;
pub use outcome::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use setup::*;
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "hearth-load/1";

/// A result file: one or more runs, in the order they were taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResultFile {
    /// Always `hearth-load/1`.
    pub schema: String,
    /// Version of the program that measured.
    pub version: String,
    /// Several if the run was a sweep or was repeated.
    pub runs: Vec<Run>,
}

/// Everything about one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What was asked for.
    pub setup: Setup,
    /// The machine that generated the load.
    pub host: Host,
    /// Start of the measurement, seconds since 1970.
    pub started_unix_s: f64,
    /// From the first start to the last completion.
    pub elapsed_s: f64,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// Requests, by how they ended.
    pub counts: Counts,
    /// Requests per second.
    pub rates: Rates,
    /// Failures by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// The first few distinct failures, in words.
    pub error_samples: Vec<ErrorSample>,
    /// Durations.
    pub latency: Latency,
    /// What became of the connections.
    pub connections: Connections,
    /// Requests in flight.
    pub concurrency: Concurrency,
    /// Bytes on the wire, as the application sees them.
    pub bytes: Bytes,
    /// Processor time.
    pub cpu: Cpu,
    /// The kernel's own counters over the run (local targets see both sides).
    pub kernel: Kernel,
    /// How the run developed; neighbours are merged when it is long.
    pub series: Vec<Point>,
    /// Responses per second of single client threads, tenth of a second by tenth (wrk's
    /// "Req/Sec"); not kept in the file.
    #[serde(skip)]
    pub thread_rates: crate::Distribution,
    /// What the excluded warm-up looked like.
    pub warmup: Option<Warmup>,
    /// What the first response said in `Server:`.
    pub server_header: Option<String>,
    /// Remarks on how the run was made.
    pub notes: Vec<String>,
    /// What to believe of all this.
    pub verdicts: Vec<Verdict>,
}

impl Run {
    /// Returns the distribution that shows how long users wait: response time in an open loop, else service time.
    #[must_use]
    pub fn headline_latency(&self) -> &Distribution {
        self.latency
            .response
            .as_ref()
            .unwrap_or(&self.latency.service)
    }

    /// Returns the number of failures of one class.
    #[must_use]
    pub fn errors_of(&self, class: ErrorClass) -> u64 {
        self.errors.get(&class).copied().unwrap_or(0)
    }

    /// Returns the number of good and failed requests.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.counts.good + self.counts.failed
    }
}
