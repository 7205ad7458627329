//! The operations. Each holds the lock once; [`Cache::is_current`] holds none.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use rustix::time::{ClockId, clock_gettime};

use crate::batch::Known;
use crate::counters::Counter;
use crate::entry::{Fields, Form, Head, MAX_TAGS, Queue, Space, cells_for};
use crate::geometry::{AT_EPOCH, AT_LOCK, AT_SERVED, CELL};
use crate::index::hash;
use crate::memory::{Cell, Memory};
use crate::recovery::is_key;

/// The shared cache, as one process sees it.
#[derive(Debug)]
pub struct Cache {
    pub(crate) memory: Memory,
    clock: fn() -> u64,
}

/// An entry or a tag as it was: it is as long as the stamp of that cell is this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Mark {
    pub stamp: u64,
    pub cell: u64,
}

/// An entry that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its own first, then those of its tags.
    pub marks: Vec<Mark>,
    pub form: Form,
    pub int: i64,
    /// Microseconds of the cache's clock, 0 for never.
    pub expires: u64,
    /// Another value is to be computed from then on; 0 for never.
    pub stale: u64,
}

/// When a write is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition<'a> {
    Always,
    /// There is no value.
    Absent,
    /// The value is this one.
    Equals(Form, i64, &'a [u8]),
    /// The computation of this key is still the caller's: see [`Cache::claim`].
    Claimed(u64),
}

/// What is to be written.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    pub key: &'a [u8],
    pub form: Form,
    pub int: i64,
    pub bytes: &'a [u8],
    /// Microseconds from now, 0 for ever.
    pub ttl: u64,
    /// Microseconds from now until another value is to be computed, 0 for never.
    pub fresh: u64,
    pub tags: &'a [&'a [u8]],
    /// In place of tags: what [`Cache::tags`] gave. One that was deleted since ends the entry at once.
    pub marks: &'a [Mark],
    pub condition: Condition<'a>,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    Yes,
    /// The condition does not hold.
    No,
}

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It takes more than one entry may, in bytes.
    TooLarge { most: usize },
    /// There is no room, and nothing that may be evicted.
    Full,
    /// Another process holds the lock for seconds.
    Stuck,
    /// What is there is no whole number.
    NotInt,
    /// PHP's int cannot hold the sum.
    Overflow,
    /// The key is empty or too long, or there are too many tags.
    Key,
    /// The lock of the session is not the caller's.
    NotHeld,
    /// Only the second tier could say, and it does not answer.
    Away,
    /// The second tier answers, and does not do it.
    Denied,
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000
}

impl Cache {
    /// Memory for one of `bytes` bytes; [`Cache::map`] it in every process.
    pub fn create(bytes: u64) -> io::Result<OwnedFd> {
        Memory::create(bytes)
    }

    pub fn map(fd: &OwnedFd) -> io::Result<Cache> {
        Ok(Cache {
            memory: Memory::map(fd)?,
            clock: monotonic,
        })
    }

    /// This thread serves it: see [`Cache::is_served`]. False: another one does.
    pub fn serve(&'static self) -> bool {
        shm::hold_for_life(&self.memory.mapping, AT_SERVED)
    }

    /// Does the thread that serves it still live? A process that is no child of the server asks before it uses it.
    #[inline]
    pub fn is_served(&self) -> bool {
        shm::is_held(&self.memory.mapping, AT_SERVED)
    }

    /// With another clock, for tests.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> u64) -> Cache {
        Cache { clock, ..self }
    }

    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Alone with the memory, which is in order.
    pub(crate) fn held(&self) -> Result<shm::Guard<'_>, Refused> {
        let Some(mut guard) = shm::lock(&self.memory.mapping, AT_LOCK) else {
            self.memory.count(Counter::Stuck, 1);
            return Err(Refused::Stuck);
        };
        if guard.is_abandoned() {
            self.memory.recover();
            guard.repaired();
        }
        Ok(guard)
    }

    /// Is a copy with these marks still what is in the cache? Counts as a read for eviction.
    #[inline]
    pub fn is_current(&self, marks: &[Mark], expires: u64) -> bool {
        self.are_current(marks.iter().copied(), expires)
    }

    #[inline]
    pub fn are_current(&self, mut marks: impl Iterator<Item = Mark>, expires: u64) -> bool {
        let Some(own) = marks.next() else {
            return false;
        };
        own.stamp > self.memory.epoch()
            && self.is_marked(&own)
            && marks.all(|mark| self.is_marked(&mark))
            && (expires == 0 || expires > self.now())
    }

    #[inline]
    fn is_marked(&self, mark: &Mark) -> bool {
        let cell = self.memory.valid(mark.cell);
        if cell == 0 || self.memory.stamp(cell).load(Ordering::Acquire) != mark.stamp {
            return false;
        }
        let reads = self.memory.mark(cell);
        let count = reads.load(Ordering::Relaxed);
        if count < 3 {
            reads.store(count + 1, Ordering::Relaxed);
        }
        true
    }

    /// It was read.
    pub(crate) fn touch(&self, head: Head<'_>) {
        let (stamp, cell) = (head.stamp(), u64::from(head.cell));
        self.is_marked(&Mark { stamp, cell });
    }

    /// Reads and writes that went without the lock.
    pub fn count(&self, counter: Counter, by: u64) {
        self.memory.count(counter, by);
    }

    pub fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<Option<Found>, Refused> {
        match self.read_known(key, into)? {
            Known::Value(found, _) => Ok(Some(found)),
            Known::Absent | Known::Unknown => Ok(None),
        }
    }

    /// The same, and whether the second tier has to be asked. `into` is emptied first.
    pub fn read_known(&self, key: &[u8], into: &mut Vec<u8>) -> Result<Known, Refused> {
        into.clear();
        let _held = self.held()?;
        Ok(self.look(key, into))
    }

    pub(crate) fn found(&self, head: Head<'_>) -> Found {
        let marks: Vec<Mark> = std::iter::once((head.cell, head.stamp()))
            .chain(head.marks())
            .map(|(cell, stamp)| Mark {
                stamp,
                cell: u64::from(cell),
            })
            .collect();
        marks.iter().for_each(|mark| {
            self.is_marked(mark);
        });
        Found {
            marks,
            form: head.form(),
            int: head.int().cast_signed(),
            expires: head.expires(),
            stale: head.stale(),
        }
    }

    /// The entry of this key; a dead one is removed.
    pub(crate) fn alive(&self, space: Space, key: &[u8]) -> Option<Head<'_>> {
        let head = self.memory.find(space, hash(space, key), key)?;
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

    /// The most bytes of key, value and tags of an entry.
    pub fn largest(&self) -> usize {
        self.memory.geometry.cells / 2 * (CELL - 1) * 8
    }

    pub fn write(&self, write: &Write<'_>) -> Result<Stored, Refused> {
        self.write_versions(write, &[])
    }

    /// Can it be written at all? Says how many cells it takes.
    pub fn check(&self, write: &Write<'_>) -> Result<usize, Refused> {
        if !is_key(Space::Value, write.key) || write.tags.len().max(write.marks.len()) > MAX_TAGS {
            return Err(Refused::Key);
        }
        let length = if write.form == Form::Int {
            0
        } else {
            write.bytes.len()
        };
        let marks = write.tags.len().max(write.marks.len());
        let needed = cells_for(marks, write.key.len(), length) + write.tags.len();
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

    /// With tags of these versions; none: as the tags are.
    pub fn write_versions(&self, write: &Write<'_>, versions: &[i64]) -> Result<Stored, Refused> {
        let cells = self.check(write)?;
        let _held = self.held()?;
        self.write_held(write, versions, cells)
    }

    /// Held by the lock, and checked.
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
        let marks = self.prepare(write.tags, versions, cells)?;
        let marks = if write.marks.is_empty() {
            &marks
        } else {
            write.marks
        };
        self.insert(Space::Value, write, marks)?;
        Ok(Stored::Yes)
    }

    fn holds(&self, write: &Write<'_>) -> bool {
        match write.condition {
            Condition::Always => true,
            Condition::Absent => self.alive(Space::Value, write.key).is_none(),
            Condition::Claimed(token) => self
                .alive(Space::Computation, write.key)
                .is_some_and(|head| head.stamp() == token),
            Condition::Equals(form, int, bytes) => {
                self.alive(Space::Value, write.key).is_some_and(|head| {
                    let mut now = Vec::new();
                    self.memory.value(head, &mut now);
                    head.form() == form && (head.int().cast_signed(), &now[..]) == (int, bytes)
                })
            }
        }
    }

    /// Makes room, then sees to the tags, so that none is evicted before the entry that has it is written.
    pub(crate) fn prepare(
        &self,
        tags: &[&[u8]],
        versions: &[i64],
        cells: usize,
    ) -> Result<Vec<Mark>, Refused> {
        // A tag's name may take more than one cell.
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

    /// The tags as they are now, for a value that is computed from now on.
    pub fn tags(&self, names: &[&[u8]]) -> Result<Vec<Mark>, Refused> {
        self.tags_of(names, &[])
    }

    /// In these versions; a tag that has another one ends. None: as the tags are.
    pub fn tags_of(&self, names: &[&[u8]], versions: &[i64]) -> Result<Vec<Mark>, Refused> {
        if names.len() > MAX_TAGS || !names.iter().all(|name| is_key(Space::Tag, name)) {
            return Err(Refused::Key);
        }
        let _held = self.held()?;
        self.prepare(names, versions, names.len())
    }

    fn tag(&self, name: &[u8], version: Option<i64>) -> Result<Mark, Refused> {
        let is_other =
            |head: &Head<'_>| version.is_some_and(|version| version != head.int().cast_signed());
        if let Some(head) = self.alive(Space::Tag, name).filter(|head| !is_other(head)) {
            let mark = Mark {
                stamp: head.stamp(),
                cell: u64::from(head.cell),
            };
            self.is_marked(&mark);
            return Ok(mark);
        }
        let write = Write {
            key: name,
            form: Form::Int,
            int: version.unwrap_or_default(),
            bytes: &[],
            ttl: 0,
            fresh: 0,
            tags: &[],
            marks: &[],
            condition: Condition::Always,
        };
        let mark = self.insert(Space::Tag, &write, &[])?;
        self.is_marked(&mark);
        Ok(mark)
    }

    /// Writes an entry for which there is room.
    pub(crate) fn insert(
        &self,
        space: Space,
        write: &Write<'_>,
        marks: &[Mark],
    ) -> Result<Mark, Refused> {
        let memory = &self.memory;
        let hash = hash(space, write.key);
        let length = if write.form == Form::Int {
            0
        } else {
            write.bytes.len()
        };
        let cells = cells_for(marks.len(), write.key.len(), length);
        let Some(cell) = memory.allocate(cells) else {
            // The list of free cells is not what it says.
            memory.recover();
            return Err(Refused::Full);
        };
        let old = memory.find(space, hash, write.key);
        let queue = old.map_or_else(|| memory.first_queue(space, hash), Head::queue);
        let head = memory.head(cell);
        let now = self.now();
        let after = |time: u64| {
            if time == 0 {
                0
            } else {
                now.saturating_add(time)
            }
        };
        head.write(&Fields {
            hash,
            space,
            form: write.form,
            tags: marks.len(),
            key: write.key.len(),
            value: length,
            expires: after(write.ttl),
            stale: after(write.fresh),
            int: write.int.cast_unsigned(),
            queue,
        });
        self.fill(cell, marks, write.key, &write.bytes[..length]);
        let reads = old.map_or(0, |old| memory.mark(old.cell).load(Ordering::Relaxed));
        memory.mark(cell).store(reads, Ordering::Relaxed);
        let stamp = memory.next_stamp();
        // From here on it is the entry of this key.
        memory.stamp(cell).swap(stamp, Ordering::AcqRel);
        if let Some(old) = old {
            memory.remove(old);
        }
        if space == Space::Value {
            self.forget_absence(write.key);
        }
        memory.link(head);
        memory.enqueue(head, queue);
        Ok(Mark {
            stamp,
            cell: u64::from(cell),
        })
    }

    fn fill(&self, cell: Cell, marks: &[Mark], key: &[u8], value: &[u8]) {
        let mut words = self.memory.payload(cell);
        for mark in marks {
            words.put(mark.cell);
            words.put(mark.stamp);
        }
        words.put_bytes(key);
        words.put_bytes(value);
    }

    /// True if there was a value. One that is being computed is not written any more: it may be of what was before.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Refused> {
        self.remove(Space::Value, key)
    }

    /// No entry that was written with this tag is there any more.
    pub fn delete_tag(&self, tag: &[u8]) -> Result<bool, Refused> {
        self.remove(Space::Tag, tag)
    }

    fn remove(&self, space: Space, key: &[u8]) -> Result<bool, Refused> {
        let _held = self.held()?;
        Ok(self.remove_held(space, key))
    }

    /// Held by the lock.
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

    /// All values and tags are gone, at one moment, and what is being computed is not written; locks stay.
    pub fn clear(&self) -> Result<(), Refused> {
        let _held = self.held()?;
        let epoch = self.memory.next_stamp();
        self.memory
            .word(AT_EPOCH)
            .fetch_max(epoch, Ordering::AcqRel);
        for queue in [Queue::Small, Queue::Main] {
            let mut cell = self.memory.oldest(queue);
            for _ in 0..self.memory.geometry.cells {
                if cell == 0 {
                    break;
                }
                let head = self.memory.head(cell);
                cell = head.newer();
                if head.space() == Some(Space::Computation) || !head.is_alive(self.now()) {
                    self.memory.remove(head);
                }
            }
        }
        Ok(())
    }
}
