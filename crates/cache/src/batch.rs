//! Operations on several keys, which take the lock once for all of them.

use std::ops::Range;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Encoding, Head, Space};
use crate::operation::{Found, Refused, Stored, Write};
use crate::tier::Tier;

/// The number of keys after which the lock is released, so that other processes get their turn.
const AT_ONCE: usize = 256;

/// A value that was read, and the range of its bytes in the buffer.
pub type Placed = (Found, Range<usize>);

/// The result of looking up a key in the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// The key has a value, whose bytes are in this range of the buffer.
    Value(Found, Range<usize>),
    /// The second tier has no value for the key: see [`Cache::note_absent`].
    Absent,
    Unknown,
}

impl Cache {
    /// Looks up a value and appends its bytes to `into`. The caller holds the lock.
    pub(crate) fn lookup(&self, key: &[u8], into: &mut Vec<u8>) -> Known {
        let Some(head) = self.alive(Space::Value, key) else {
            self.memory.count(Counter::Misses, 1);
            return self.absence(key);
        };
        self.memory.count(Counter::Hits, 1);
        let range = self.bytes(head, into);
        Known::Value(self.found(head), range)
    }

    /// Appends the bytes of a value to `into` and returns where they are.
    fn bytes(&self, head: Head<'_>, into: &mut Vec<u8>) -> Range<usize> {
        let start = into.len();
        if head.encoding() != Encoding::Int {
            self.memory.value(head, into);
        }
        start..into.len()
    }

    fn absence(&self, key: &[u8]) -> Known {
        let noted = (self.tier() != Tier::None).then(|| self.alive(Space::Absence, key));
        match noted.flatten() {
            Some(head) => {
                self.touch(head);
                Known::Absent
            }
            None => Known::Unknown,
        }
    }

    /// Looks up each of these keys; the bytes of all values are appended to `into`.
    pub fn read_many(&self, keys: &[&[u8]], into: &mut Vec<u8>) -> Result<Vec<Known>, Refused> {
        let mut known = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let _held = self.held()?;
            known.extend(keys.iter().map(|key| self.lookup(key, into)));
        }
        Ok(known)
    }

    /// Looks up each of these keys without a trace: counts no read, neither in the statistics nor for eviction.
    pub fn peek_many(
        &self,
        keys: &[&[u8]],
        into: &mut Vec<u8>,
    ) -> Result<Vec<Option<Placed>>, Refused> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let _held = self.held()?;
            found.extend(keys.iter().map(|key| {
                let head = self.alive(Space::Value, key)?;
                Some((Found::of(head), self.bytes(head, into)))
            }));
        }
        Ok(found)
    }

    /// Does each write for itself; returns the result of each.
    pub fn write_many(&self, writes: &[Write<'_>]) -> Vec<Result<Stored, Refused>> {
        let mut done = Vec::with_capacity(writes.len());
        for writes in writes.chunks(AT_ONCE) {
            match self.held() {
                Ok(_held) => done.extend(writes.iter().map(|write| {
                    let cells = self.check(write)?;
                    self.write_held(write, &[], cells)
                })),
                Err(why) => done.extend(writes.iter().map(|_| Err(why))),
            }
        }
        done
    }

    /// Deletes values; returns for each whether there was one.
    pub fn delete_many(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Refused> {
        self.remove_many(Space::Value, keys)
    }

    /// Deletes tags, which ends every entry that was written with one of them; returns how many of the tags existed.
    pub fn delete_tags(&self, tags: &[&[u8]]) -> Result<usize, Refused> {
        let removed = self.remove_many(Space::Tag, tags)?;
        Ok(removed.into_iter().filter(|was_there| *was_there).count())
    }

    fn remove_many(&self, space: Space, keys: &[&[u8]]) -> Result<Vec<bool>, Refused> {
        let mut removed = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let _held = self.held()?;
            removed.extend(keys.iter().map(|key| self.remove_held(space, key)));
        }
        Ok(removed)
    }
}
