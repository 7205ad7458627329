//! The state of the server at one moment, as `hearth status --json`, the admin server and the metrics have it.

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

/// The server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    pub pid: u32,
    pub app: String,
    pub listen: Vec<String>,
    /// `starting`, `running`, `reloading` or `stopping`.
    pub state: String,
    /// Every slot has a worker that accepts.
    pub healthy: bool,
    /// Some worker accepts.
    pub ready: bool,
    pub uptime_seconds: f64,
    /// Of the app; rises by one with every boot of it.
    pub generation: u32,
    pub php: String,
    /// Why the app is booted in each worker, if it is.
    pub cold: Option<String>,
    /// The preload list, if there is one.
    #[serde(default)]
    pub preload: Option<PreloadStatus>,
    pub slots: u32,
    /// Where the number of workers follows the load.
    #[serde(default)]
    pub elastic: Option<ElasticStatus>,
    pub reloads: u64,
    /// Workers that had to be replaced outside of reloads.
    pub restarts: u64,
    /// Workers replaced because they had served enough (`workers.max_requests`, `workers.max_memory`).
    pub recycled: u64,
    /// Sums over all workers there have been, by the names of [`Counter`].
    pub totals: Vec<(String, u64)>,
    /// How long requests took, by route and class.
    #[serde(default)]
    pub latencies: Vec<Latency>,
    /// Of balanced dispatch.
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

/// The process before the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontStatus {
    pub pid: Option<u32>,
    /// `starting`, `ready` or `leaving`.
    pub state: String,
    pub uptime_seconds: f64,
    pub connections: u64,
    /// Requests that wait for a worker.
    pub waiting: u64,
    /// What each of its threads has used of a processor.
    pub cpu_seconds: Vec<f64>,
    pub resident_bytes: u64,
    pub restarts: u64,
}

/// Between which numbers of workers, and what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElasticStatus {
    pub min: u32,
    /// `None`: by memory.
    pub max: Option<u32>,
    /// Workers that were added, and that have left because they had nothing to do.
    pub added: u64,
    pub retired: u64,
    /// What one costs, its share of shared memory included, once that was looked at.
    pub worker_bytes: Option<u64>,
}

/// One worker.
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
    /// Of its slot, since the server started.
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

    /// A sum over all workers there have been, by its name in [`Status::totals`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        let mut totals = self.totals.iter();
        let found = totals.find(|(counter, _)| counter == name);
        found.map_or(0, |(_, value)| *value)
    }

    /// Requests that run now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.workers.iter().map(|worker| worker.in_flight).sum()
    }

    /// Requests that wait for a worker now.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.count("queued").saturating_sub(self.count("unqueued"))
    }
}
