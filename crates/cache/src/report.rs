//! Statistics of the cache, for operators.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Encoding, Queue, Space};
use crate::geometry::CELL;
use crate::operation::Refused;

/// Statistics of the whole cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes for entries.
    pub size: u64,
    pub used: u64,
    /// The number of values, tags, locks, computations, and keys that the second tier is known not to have.
    pub entries: u64,
    pub hits: u64,
    pub misses: u64,
    pub writes: u64,
    pub deletes: u64,
    pub evicted: u64,
    pub expired: u64,
    pub invalidated: u64,
    pub refused: u64,
    pub computed: u64,
    pub coalesced: u64,
    pub recovered: u64,
    pub lock_timeouts: u64,
    pub sessions: u64,
    /// Bytes of sessions, a part of `used`.
    pub sessions_used: u64,
    pub sessions_evicted: u64,
    pub sessions_refused: u64,
    pub session_lock_waits: u64,
}

impl Stats {
    /// Returns all statistics with their names.
    #[must_use]
    pub fn figures(&self) -> [(&'static str, u64); 20] {
        [
            ("size", self.size),
            ("used", self.used),
            ("entries", self.entries),
            ("hits", self.hits),
            ("misses", self.misses),
            ("writes", self.writes),
            ("deletes", self.deletes),
            ("evicted", self.evicted),
            ("expired", self.expired),
            ("invalidated", self.invalidated),
            ("refused", self.refused),
            ("computed", self.computed),
            ("coalesced", self.coalesced),
            ("recovered", self.recovered),
            ("lock_timeouts", self.lock_timeouts),
            ("sessions", self.sessions),
            ("sessions_used", self.sessions_used),
            ("sessions_evicted", self.sessions_evicted),
            ("sessions_refused", self.sessions_refused),
            ("session_lock_waits", self.session_lock_waits),
        ]
    }
}

/// A value in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: Vec<u8>,
    /// Bytes of the cache that the entry takes.
    pub size: usize,
    /// Reads since the entry was last considered for eviction; 3 means three or more.
    pub reads: u64,
    /// Microseconds until it expires.
    pub left: Option<u64>,
    pub encoding: Encoding,
}

impl Cache {
    /// Returns the current statistics; the counters may be from slightly different moments.
    pub fn stats(&self) -> Stats {
        let memory = &self.memory;
        let counted = |counter| memory.counted(counter);
        let cell = CELL as u64 * 8;
        let size = memory.geometry.cells as u64 * cell;
        Stats {
            size,
            used: size.saturating_sub(memory.free_cells() as u64 * cell),
            entries: memory.entries(),
            hits: counted(Counter::Hits),
            misses: counted(Counter::Misses),
            writes: counted(Counter::Writes),
            deletes: counted(Counter::Deletes),
            evicted: counted(Counter::Evicted),
            expired: counted(Counter::Expired),
            invalidated: counted(Counter::Invalidated),
            refused: counted(Counter::Refused),
            computed: counted(Counter::Computed),
            coalesced: counted(Counter::Coalesced),
            recovered: counted(Counter::Recovered),
            lock_timeouts: counted(Counter::LockTimeouts),
            sessions: memory.sessions(),
            sessions_used: memory.session_cells() as u64 * cell,
            sessions_evicted: counted(Counter::SessionsEvicted),
            sessions_refused: counted(Counter::SessionsRefused),
            session_lock_waits: counted(Counter::SessionLockWaits),
        }
    }

    /// Returns the `most` largest values, the largest first.
    pub fn largest_entries(&self, most: usize) -> Result<Vec<Entry>, Refused> {
        let held = self.held()?;
        let mut heads = Vec::new();
        for queue in [Queue::Small, Queue::Main] {
            let alive = self
                .memory
                .queued(queue)
                .filter(|head| head.space() == Some(Space::Value) && head.is_alive(self.now()));
            heads.extend(alive);
        }
        heads.sort_by_key(|head| std::cmp::Reverse(head.cells()));
        let now = self.now();
        let entries = heads.into_iter().take(most).map(|head| Entry {
            key: self.memory.key(head),
            size: head.cells() * CELL * 8,
            reads: self.memory.reads(head.cell).load(Ordering::Relaxed),
            left: (head.expires() != 0).then(|| head.expires().saturating_sub(now)),
            encoding: head.encoding(),
        });
        let entries = entries.collect();
        drop(held);
        Ok(entries)
    }
}
