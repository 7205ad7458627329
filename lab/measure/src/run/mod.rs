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
    /// The runs; several for a sweep or for repeats.
    pub runs: Vec<Run>,
}

/// One run: what was asked for, what was measured, and what to believe of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What was asked for.
    pub setup: Setup,
    /// The machine that generated the load.
    pub host: Host,
    /// Start of the measurement, seconds since 1970.
    pub started_unix_s: f64,
    /// Time from the first start of a request to the last completion.
    pub elapsed_s: f64,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// Numbers of requests, by how they ended.
    pub counts: Counts,
    /// Requests per second.
    pub rates: Rates,
    /// Failures by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// The first few distinct failures, as text.
    pub error_samples: Vec<ErrorSample>,
    /// Durations of requests and their phases.
    pub latency: Latency,
    /// How connections were opened, used and closed.
    pub connections: Connections,
    /// Requests in flight.
    pub concurrency: Concurrency,
    /// Bytes as the application sees them (inside TLS).
    pub bytes: Bytes,
    /// Processor time over the measurement.
    pub cpu: Cpu,
    /// Counters of the kernel over the run; with a local target they count both sides.
    pub kernel: Kernel,
    /// The run in intervals; those of a long run are merged with their neighbours.
    pub series: Vec<Point>,
    /// Responses per second of single client threads, tenth of a second by tenth (wrk's
    /// "Req/Sec"); not kept in the file.
    #[serde(skip)]
    pub thread_rates: crate::Distribution,
    /// The warm-up, which the measurement excludes.
    pub warmup: Option<Warmup>,
    /// Value of the `Server` field of the first response.
    pub server_header: Option<String>,
    /// Remarks on how the run was made.
    pub notes: Vec<String>,
    /// Findings about how far the figures can be believed.
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

    /// Returns the number of failures of these classes.
    #[must_use]
    pub fn errors_of(&self, classes: &[ErrorClass]) -> u64 {
        classes
            .iter()
            .filter_map(|class| self.errors.get(class))
            .sum()
    }

    /// Returns the number of failures to connect, by timeout or otherwise.
    #[must_use]
    pub fn connect_errors(&self) -> u64 {
        let connect = self.errors.iter().filter(|(class, _)| class.is_connect());
        connect.map(|(_, count)| count).sum()
    }

    /// Returns the number of good and failed requests.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.counts.good + self.counts.failed
    }
}
