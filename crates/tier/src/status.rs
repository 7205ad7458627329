//! What operators see of it.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// How it is now, and what happened since the server started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Status {
    /// Without user and password.
    pub address: String,
    pub is_there: bool,
    /// Of the state.
    pub seconds: u64,
    /// Why it is away.
    pub error: Option<String>,
    /// Keys and tags that were written while it was away.
    pub marked: u64,
    /// Reads that the memory could not answer, and those that Redis had a value for.
    pub reads: u64,
    pub hits: u64,
    pub writes: u64,
    /// Keys and tags that other servers changed, or that expired or were evicted there.
    pub invalidations: u64,
    /// How often it went away.
    pub losses: u64,
    /// Operations that it answered with an error.
    pub denied: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reads: AtomicU64,
    pub(crate) hits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) invalidations: AtomicU64,
    pub(crate) losses: AtomicU64,
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
