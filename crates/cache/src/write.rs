//! Writing: conditions, room, tags, and the replacement of the old entry.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Fields, Head, MAX_TAGS, Space, cells_for};
use crate::geometry::CELL;
use crate::memory::Cell;
use crate::operation::{Condition, Refused, Stored, Validator, Write};
use crate::recovery::is_key;

impl Cache {
    /// Returns the most bytes of key, value and tags of an entry.
    pub fn largest(&self) -> usize {
        self.memory.geometry.cells / 2 * (CELL - 1) * 8
    }

    pub fn write(&self, write: &Write<'_>) -> Result<Stored, Refused> {
        self.write_versions(write, &[])
    }

    /// Checks whether the write is possible at all; returns how many cells it takes.
    pub fn check(&self, write: &Write<'_>) -> Result<usize, Refused> {
        if !is_key(Space::Value, write.key)
            || write.tags.len().max(write.validators.len()) > MAX_TAGS
        {
            return Err(Refused::Key);
        }
        let length = write.length();
        let validators = write.tags.len().max(write.validators.len());
        let needed = cells_for(validators, write.key.len(), length) + write.tags.len();
        let tags_fit = write.tags.iter().all(|tag| is_key(Space::Tag, tag));
        if !tags_fit {
            return Err(Refused::Key);
        }
        if needed > self.memory.geometry.cells / 2 || u32::try_from(length).is_err() {
            return Err(Refused::TooLarge {
                most: self.largest(),
            });
        }
        Ok(needed)
    }

    /// Writes with tags of these versions; without versions, with the tags as they are now.
    pub fn write_versions(&self, write: &Write<'_>, versions: &[i64]) -> Result<Stored, Refused> {
        let cells = self.check(write)?;
        let _held = self.held()?;
        self.write_held(write, versions, cells)
    }

    /// Does a checked write. The caller holds the lock.
    pub(crate) fn write_held(
        &self,
        write: &Write<'_>,
        versions: &[i64],
        cells: usize,
    ) -> Result<Stored, Refused> {
        if !self.holds(write) {
            return Ok(Stored::No);
        }
        self.memory.count(Counter::Writes, 1);
        if self.replaces_number(write) {
            return Ok(Stored::Yes);
        }
        let validators = self.prepare(write.tags, versions, cells)?;
        let validators = if write.validators.is_empty() {
            &validators
        } else {
            write.validators
        };
        self.insert(Space::Value, write, validators)?;
        Ok(Stored::Yes)
    }

    fn holds(&self, write: &Write<'_>) -> bool {
        match write.condition {
            Condition::Always => true,
            Condition::Absent => self.alive(Space::Value, write.key).is_none(),
            Condition::Claimed(token) => {
                let is_held = self
                    .alive(Space::Computation, write.key)
                    .is_some_and(|head| head.sequence() == token);
                let is_older = |head: Head<'_>| head.sequence() < token;
                is_held && self.alive(Space::Value, write.key).is_none_or(is_older)
            }
            Condition::Equals(encoding, int, bytes) => {
                self.alive(Space::Value, write.key).is_some_and(|head| {
                    let mut now = Vec::new();
                    self.memory.value(head, &mut now);
                    head.encoding() == encoding
                        && (head.int().cast_signed(), &now[..]) == (int, bytes)
                })
            }
        }
    }

    /// Makes room, then looks up or creates the tags, so that no tag is evicted before the entry with that tag is written.
    pub(crate) fn prepare(
        &self,
        tags: &[&[u8]],
        versions: &[i64],
        cells: usize,
    ) -> Result<Vec<Validator>, Refused> {
        // The name of a tag may take more than one cell.
        let names: usize = tags.iter().map(|tag| cells_for(0, tag.len(), 0) - 1).sum();
        if !self.memory.make_room(cells + names, self.now()) {
            self.memory.count(Counter::Refused, 1);
            return Err(Refused::Full);
        }
        let versions = versions.iter().copied().map(Some);
        let versions = versions.chain(std::iter::repeat(None));
        tags.iter()
            .zip(versions)
            .map(|(tag, version)| self.tag(tag, version))
            .collect()
    }

    /// Returns the tags as they are now, for a value that is computed from now on.
    pub fn tags(&self, names: &[&[u8]]) -> Result<Vec<Validator>, Refused> {
        self.tags_of(names, &[])
    }

    /// Returns the tags in these versions; a tag with another version ends. Without versions, the tags as they are now.
    pub fn tags_of(&self, names: &[&[u8]], versions: &[i64]) -> Result<Vec<Validator>, Refused> {
        if names.len() > MAX_TAGS || !names.iter().all(|name| is_key(Space::Tag, name)) {
            return Err(Refused::Key);
        }
        let _held = self.held()?;
        self.prepare(names, versions, names.len())
    }

    fn tag(&self, name: &[u8], version: Option<i64>) -> Result<Validator, Refused> {
        let is_other =
            |head: &Head<'_>| version.is_some_and(|version| version != head.int().cast_signed());
        if let Some(head) = self.alive(Space::Tag, name).filter(|head| !is_other(head)) {
            let validator = Validator {
                sequence: head.sequence(),
                cell: u64::from(head.cell),
            };
            self.is_unchanged(&validator);
            return Ok(validator);
        }
        let write = Write::int(name, version.unwrap_or_default());
        let validator = self.insert(Space::Tag, &write, &[])?;
        self.is_unchanged(&validator);
        Ok(validator)
    }

    /// Writes an entry for which room was made.
    pub(crate) fn insert(
        &self,
        space: Space,
        write: &Write<'_>,
        validators: &[Validator],
    ) -> Result<Validator, Refused> {
        let memory = &self.memory;
        let hash = memory.hash(space, write.key);
        let length = write.length();
        let cells = cells_for(validators.len(), write.key.len(), length);
        let Some(cell) = memory.allocate(cells) else {
            // The list of free cells is inconsistent.
            memory.recover();
            return Err(Refused::Full);
        };
        let old = memory.find(space, hash, write.key);
        let queue = old.map_or_else(|| memory.first_queue(space, hash), Head::queue);
        let now = self.now();
        memory.head(cell).write(&Fields {
            hash,
            space,
            encoding: write.encoding,
            tags: validators.len(),
            key: write.key.len(),
            value: length,
            expires: after(now, write.ttl),
            stale: after(now, write.fresh),
            int: write.int.cast_unsigned(),
            queue,
        });
        self.fill(cell, validators, write.key, &write.bytes[..length]);
        let sequence = self.replace(old, cell);
        if space == Space::Value {
            self.forget_absence(write.key);
        }
        memory.link(memory.head(cell));
        memory.enqueue(memory.head(cell), queue);
        Ok(Validator {
            sequence,
            cell: u64::from(cell),
        })
    }

    /// Makes the cell the entry of its key in place of the old one. Returns its sequence number.
    fn replace(&self, old: Option<Head<'_>>, cell: Cell) -> u64 {
        let memory = &self.memory;
        let reads = old.map_or(0, |old| memory.reads(old.cell).load(Ordering::Relaxed));
        memory.reads(cell).store(reads, Ordering::Relaxed);
        let sequence = memory.next_sequence();
        // From this store on, it is the entry of the key.
        memory.sequence(cell).swap(sequence, Ordering::AcqRel);
        if let Some(old) = old {
            memory.remove(old);
        }
        sequence
    }

    fn fill(&self, cell: Cell, validators: &[Validator], key: &[u8], value: &[u8]) {
        let mut words = self.memory.payload(cell);
        for validator in validators {
            words.put(validator.cell);
            words.put(validator.sequence);
        }
        words.put_bytes(key);
        words.put_bytes(value);
    }
}

/// Returns the time `time` microseconds after `now`; 0, which is never, for 0.
fn after(now: u64, time: u64) -> u64 {
    match time {
        0 => 0,
        time => now.saturating_add(time),
    }
}
