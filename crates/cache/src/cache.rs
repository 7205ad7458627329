//! The cache as one process uses it. Each operation takes the lock once; [`Cache::is_current`] takes none.

use std::sync::atomic::Ordering;

use crate::batch::Known;
use crate::counters::Counter;
use crate::entry::{Head, Queue, Space};
use crate::geometry::{AT_EPOCH, AT_LOCK};
use crate::memory::Memory;
use crate::operation::{Found, Refused, Validator};
use crate::words::{Guard, lock};

/// The shared cache, mapped by one process.
#[derive(Debug)]
pub struct Cache {
    pub(crate) memory: Memory,
    pub(crate) clock: fn() -> u64,
}

impl Cache {
    /// Sets another clock, for tests.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> u64) -> Cache {
        Cache { clock, ..self }
    }

    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Takes the lock; rebuilds the derived data first if the last holder died with the lock.
    pub(crate) fn held(&self) -> Result<Guard<'_>, Refused> {
        let Some(mut guard) = lock(&self.memory.mapping, AT_LOCK) else {
            self.memory.count(Counter::LockTimeouts, 1);
            return Err(Refused::LockTimeout);
        };
        if guard.is_abandoned() {
            self.memory.recover();
            guard.repaired();
        }
        Ok(guard)
    }

    /// Returns whether a copy with these validators is still current. Counts as a read for eviction.
    #[inline]
    pub fn is_current(&self, validators: &[Validator], expires: u64) -> bool {
        self.are_current(validators.iter().copied(), expires)
    }

    #[inline]
    pub fn are_current(
        &self,
        mut validators: impl Iterator<Item = Validator>,
        expires: u64,
    ) -> bool {
        let Some(own) = validators.next() else {
            return false;
        };
        own.sequence > self.memory.epoch()
            && self.is_unchanged(&own)
            && validators.all(|validator| self.is_unchanged(&validator))
            && (expires == 0 || expires > self.now())
    }

    #[inline]
    pub(crate) fn is_unchanged(&self, validator: &Validator) -> bool {
        let cell = self.memory.valid(validator.cell);
        if cell == 0 || self.memory.sequence(cell).load(Ordering::Acquire) != validator.sequence {
            return false;
        }
        let reads = self.memory.reads(cell);
        let count = reads.load(Ordering::Relaxed);
        if count < 3 {
            reads.store(count + 1, Ordering::Relaxed);
        }
        true
    }

    /// Counts a read of the entry, for eviction.
    pub(crate) fn touch(&self, head: Head<'_>) {
        let (sequence, cell) = (head.sequence(), u64::from(head.cell));
        self.is_unchanged(&Validator { sequence, cell });
    }

    /// Counts events that happened without the lock, such as reads of copies.
    pub fn count(&self, counter: Counter, by: u64) {
        self.memory.count(counter, by);
    }

    pub fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<Option<Found>, Refused> {
        match self.read_known(key, into)? {
            Known::Value(found, _) => Ok(Some(found)),
            Known::Absent | Known::Unknown => Ok(None),
        }
    }

    /// Reads as [`Cache::read`] does; also returns whether the second tier is needed. `into` is emptied first.
    pub fn read_known(&self, key: &[u8], into: &mut Vec<u8>) -> Result<Known, Refused> {
        into.clear();
        let _held = self.held()?;
        Ok(self.lookup(key, into))
    }

    /// Returns what was found, and counts it as read.
    pub(crate) fn found(&self, head: Head<'_>) -> Found {
        let found = Found::of(head);
        found.validators.iter().for_each(|validator| {
            self.is_unchanged(validator);
        });
        found
    }

    /// Returns the live entry of this key; removes one that is not alive.
    pub(crate) fn alive(&self, space: Space, key: &[u8]) -> Option<Head<'_>> {
        let head = self.memory.find(space, self.memory.hash(space, key), key)?;
        if head.is_alive(self.now()) {
            return Some(head);
        }
        let counter = if head.is_expired(self.now()) {
            Counter::Expired
        } else {
            Counter::Invalidated
        };
        self.memory.count(counter, 1);
        self.memory.remove(head);
        None
    }

    /// Deletes a value; returns true if there was one. A value that is being computed is not written any more, because it
    /// may be made of older data.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Refused> {
        self.remove(Space::Value, key)
    }

    /// Deletes a tag, which ends every entry that was written with it.
    pub fn delete_tag(&self, tag: &[u8]) -> Result<bool, Refused> {
        self.remove(Space::Tag, tag)
    }

    fn remove(&self, space: Space, key: &[u8]) -> Result<bool, Refused> {
        let _held = self.held()?;
        Ok(self.remove_held(space, key))
    }

    /// Removes an entry. The caller holds the lock.
    pub(crate) fn remove_held(&self, space: Space, key: &[u8]) -> bool {
        self.memory.count(Counter::Deletes, 1);
        if space == Space::Value {
            let computation = self.alive(Space::Computation, key);
            computation.inspect(|head| self.memory.remove(*head));
        }
        let found = self.alive(space, key);
        found.inspect(|head| self.memory.remove(*head));
        found.is_some()
    }

    /// Ends all values and tags at one moment, and discards the results of running computations. Locks and sessions stay.
    pub fn clear(&self) -> Result<(), Refused> {
        let _held = self.held()?;
        let epoch = self.memory.next_sequence();
        self.memory
            .word(AT_EPOCH)
            .fetch_max(epoch, Ordering::AcqRel);
        for queue in [Queue::Small, Queue::Main] {
            for head in self.memory.queued(queue) {
                if head.space() == Some(Space::Computation) || !head.is_alive(self.now()) {
                    self.memory.remove(head);
                }
            }
        }
        Ok(())
    }
}
