//! The counters of the cache, over all workers.

use std::sync::atomic::Ordering;

use crate::geometry::AT_COUNTERS;
use crate::memory::Memory;

/// An event that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    Hits,
    Misses,
    Writes,
    Deletes,
    /// Entries removed to make room.
    Evicted,
    /// Entries removed because they had expired.
    Expired,
    /// Entries removed because one of their tags was deleted, or the cache cleared.
    Invalidated,
    /// Writes for which there was no room.
    Refused,
    /// Computations of `remember()`.
    Computed,
    /// Calls of `remember()` that waited for the computation of another caller, or used an old value meanwhile.
    Coalesced,
    /// Repairs after a process died while it held the lock.
    Recovered,
    /// Calls that failed because the lock was held for seconds.
    LockTimeouts,
    /// Sessions removed before they expired, to make room for others.
    SessionsEvicted,
    /// Writes of sessions for which there was no room.
    SessionsRefused,
    /// Sessions that a request had to wait for, because another request had them open.
    SessionLockWaits,
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
