//! The status of the second tier, for operators.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The state of the link, and counters since the server started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Status {
    /// The address without user and password.
    pub address: String,
    pub is_there: bool,
    /// How long the state has lasted.
    pub seconds: u64,
    /// Why Redis is away.
    pub error: Option<String>,
    /// Keys and tags that were written while Redis was away.
    pub pending_deletes: u64,
    /// Reads that the memory could not answer, and those of them for which Redis had a value.
    pub reads: u64,
    pub hits: u64,
    pub writes: u64,
    /// Keys and tags that other servers have changed, or that have expired or were evicted in Redis.
    pub invalidations: u64,
    /// How often Redis went away.
    pub disconnects: u64,
    /// Operations that Redis answered with an error.
    pub denied: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reads: AtomicU64,
    pub(crate) hits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) invalidations: AtomicU64,
    pub(crate) disconnects: AtomicU64,
    pub(crate) denied: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

pub(crate) fn counted(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
