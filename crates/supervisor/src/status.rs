//! The status of the server at one moment, for `hearth status --json`, the admin server and the metrics.

mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shm::{Counter, Snapshot};

use crate::latency::Latency;
use crate::pool::Pools;
use crate::preload::PreloadStatus;
use crate::worker::State;

pub use self::table::duration;

/// The status of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    pub pid: u32,
    pub app: String,
    pub listen: Vec<String>,
    /// `starting`, `running`, `reloading` or `stopping`.
    pub state: String,
    /// Whether every slot has a worker that accepts.
    pub healthy: bool,
    /// Whether any worker accepts.
    pub ready: bool,
    pub uptime_seconds: f64,
    /// The number of the generation, which rises by one with every boot of the app.
    pub generation: u32,
    pub php: String,
    /// Why each worker boots the app, if so.
    pub cold: Option<String>,
    /// The preload list, if any.
    #[serde(default)]
    pub preload: Option<PreloadStatus>,
    pub slots: u32,
    /// Present if the number of workers follows the load.
    #[serde(default)]
    pub elastic: Option<ElasticStatus>,
    pub reloads: u64,
    /// The number of workers that had to be replaced outside of reloads.
    pub restarts: u64,
    /// The number of workers replaced because they had served enough (`workers.max_requests`, `workers.max_memory`).
    pub recycled: u64,
    /// Sums over all processes so far, by the names of [`Counter`].
    pub totals: Vec<(String, u64)>,
    /// How long requests took, by route and class.
    #[serde(default)]
    pub latencies: Vec<Latency>,
    /// Present with balanced dispatch.
    pub front: Option<FrontStatus>,
    pub workers: Vec<WorkerStatus>,
    /// Figures of the cache, by their names; `None` without one.
    #[serde(default)]
    pub cache: Option<BTreeMap<String, u64>>,
    /// The second tier of the cache, with `cache.redis`.
    #[serde(default)]
    pub redis: Option<tier::Status>,
    /// The app's connection pools.
    #[serde(default)]
    pub pools: Pools,
}

/// The status of the front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontStatus {
    pub pid: Option<u32>,
    /// `starting`, `ready` or `draining`.
    pub state: String,
    pub uptime_seconds: f64,
    pub connections: u64,
    /// Requests that wait for a worker.
    pub waiting: u64,
    /// CPU seconds of each thread.
    pub cpu_seconds: Vec<f64>,
    pub resident_bytes: u64,
    pub restarts: u64,
}

/// The limits of the number of workers, and the changes so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElasticStatus {
    pub min: u32,
    /// `None` if memory is the limit.
    pub max: Option<u32>,
    /// The number of workers that were added, and of those that have left because they were idle.
    pub added: u64,
    pub retired: u64,
    /// The cost of a worker in bytes, its share of shared memory included, once that was measured.
    pub worker_bytes: Option<u64>,
}

/// The status of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    pub pid: Option<u32>,
    pub slot: u32,
    pub generation: u32,
    pub state: State,
    pub uptime_seconds: f64,
    pub requests: u64,
    pub in_flight: u64,
    pub connections: u64,
    pub resident_bytes: u64,
    /// The restarts of its slot since the server started.
    pub restarts: u64,
}

pub(crate) fn totals(snapshot: &Snapshot) -> Vec<(String, u64)> {
    Counter::ALL
        .iter()
        .map(|counter| (counter.name().to_owned(), snapshot.get(*counter)))
        .collect()
}

impl Status {
    pub(crate) fn total(&self, counter: Counter) -> u64 {
        self.count(counter.name())
    }

    /// A sum over all processes so far, by its name in [`Status::totals`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        let mut totals = self.totals.iter();
        let found = totals.find(|(counter, _)| counter == name);
        found.map_or(0, |(_, value)| *value)
    }

    /// The number of requests that run now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.workers.iter().map(|worker| worker.in_flight).sum()
    }

    /// The number of requests that wait for a worker now.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.count("queued").saturating_sub(self.count("unqueued"))
    }
}
