//! What happened, counted over all workers.

use std::sync::atomic::Ordering;

use crate::geometry::AT_COUNTERS;
use crate::memory::Memory;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    Hits,
    Misses,
    Writes,
    Deletes,
    /// To make room.
    Evicted,
    /// Their time was up.
    Expired,
    /// A tag of them was deleted, or the cache cleared.
    Invalidated,
    /// Writes that found no room.
    Refused,
    /// Computations of `remember()`.
    Computed,
    /// Calls of `remember()` that waited for the computation of another, or took an old value meanwhile.
    Spared,
    /// A process died while it held the lock, and what it left was put in order.
    Recovered,
    /// Calls that found the lock taken for seconds.
    Stuck,
    /// Sessions that left before their time to make room for others.
    SessionsEvicted,
    /// Writes of sessions that found no room.
    SessionsRefused,
    /// Sessions that were waited for, because another request had them.
    SessionsAwaited,
}

impl Memory {
    pub(crate) fn count(&self, counter: Counter, by: u64) {
        self.word(AT_COUNTERS + counter as usize)
            .fetch_add(by, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self, counter: Counter) -> u64 {
        self.get(AT_COUNTERS + counter as usize)
    }
}
