//! An entry of the cache: the fields in its first cell.

use std::sync::atomic::Ordering;

use crate::geometry::CELL;
use crate::memory::{Cell, Memory};

/// The longest key in bytes.
pub(crate) const MAX_KEY: usize = 1024;
/// The most tags of one entry.
pub(crate) const MAX_TAGS: usize = 64;
/// The number of words in the first cell that are fields.
pub(crate) const HEAD: usize = 8;

/// The kinds of keys. The same bytes are a different key in each space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    Value = 1,
    /// A tag; its integer is the tag's version in the second tier.
    Tag = 2,
    Lock = 3,
    /// The process that computes a value.
    Computation = 4,
    /// The data of a visitor's session, as PHP's session module encodes it.
    Session = 5,
    /// The process that has a session open.
    SessionLock = 6,
    /// A key for which the second tier has no value.
    Absence = 7,
}

impl Space {
    pub(crate) fn of(number: u64) -> Option<Space> {
        use Space::{Absence, Computation, Lock, Session, SessionLock, Tag, Value};
        [Value, Tag, Lock, Computation, Session, SessionLock, Absence]
            .into_iter()
            .find(|space| *space as u64 == number)
    }

    /// Returns whether the entry is never evicted.
    pub(crate) fn is_claim(self) -> bool {
        matches!(self, Space::Lock | Space::Computation | Space::SessionLock)
    }

    /// Returns whether the entry outlives a new epoch. (`Cache::clear` removes computations itself.)
    pub(crate) fn is_kept(self) -> bool {
        self.is_claim() || self == Space::Session
    }
}

/// The encoding of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// An integer, which is in the first cell.
    Int = 0,
    /// Null, booleans, numbers, strings, and arrays of these; see [`describe`](crate::describe).
    Plain = 1,
    /// The output of PHP's `serialize()`.
    Serialized = 2,
}

impl Encoding {
    pub(crate) fn of(number: u64) -> Encoding {
        match number {
            0 => Encoding::Int,
            1 => Encoding::Plain,
            _ => Encoding::Serialized,
        }
    }
}

/// The queues of S3-FIFO, and those of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Small = 0,
    Main = 1,
    /// Sessions that were used only within the first moment after their start.
    NewSession = 2,
    Session = 3,
}

impl Queue {
    pub(crate) fn of(number: u64) -> Queue {
        match number {
            1 => Queue::Main,
            2 => Queue::NewSession,
            3 => Queue::Session,
            _ => Queue::Small,
        }
    }
}

/// The fields of a new entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) hash: u64,
    pub(crate) space: Space,
    pub(crate) encoding: Encoding,
    pub(crate) tags: usize,
    pub(crate) key: usize,
    pub(crate) value: usize,
    pub(crate) expires: u64,
    pub(crate) stale: u64,
    pub(crate) int: u64,
    pub(crate) queue: Queue,
}

/// Returns the number of cells of an entry; `key` and `value` are lengths in bytes.
pub(crate) fn cells_for(tags: usize, key: usize, value: usize) -> usize {
    let words = tags * 2 + key.div_ceil(8) + value.div_ceil(8);
    1 + words.saturating_sub(CELL - HEAD).div_ceil(CELL - 1)
}

/// An entry that is in the cache, or is about to be. Only code that holds the lock has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) cell: Cell,
}

fn low(word: u64) -> u64 {
    word & 0xffff_ffff
}

impl<'a> Head<'a> {
    fn get(self, word: usize) -> u64 {
        self.memory.cell(self.cell)[word].load(Ordering::Relaxed)
    }

    fn set(self, word: usize, value: u64) {
        self.memory.cell(self.cell)[word].store(value, Ordering::Relaxed);
    }

    /// Writes all fields except the links to other cells.
    pub(crate) fn write(self, fields: &Fields) {
        let kind = (fields.space as u64) << 32 | (fields.encoding as u64) << 40;
        self.set(0, low(self.get(0)) | kind | (fields.tags as u64) << 48);
        self.set(1, fields.hash);
        self.set(2, (fields.value as u64) << 32);
        self.set(3, 0);
        self.set(4, fields.expires);
        self.set(5, fields.stale);
        self.set(6, fields.int);
        let cells = cells_for(fields.tags, fields.key, fields.value) as u64;
        self.set(
            7,
            fields.key as u64 | (fields.queue as u64) << 16 | cells << 32,
        );
    }

    pub(crate) fn sequence(self) -> u64 {
        self.memory.sequence(self.cell).load(Ordering::Relaxed)
    }

    pub(crate) fn space(self) -> Option<Space> {
        Space::of(self.get(0) >> 32 & 0xff)
    }

    pub(crate) fn encoding(self) -> Encoding {
        Encoding::of(self.get(0) >> 40 & 0xff)
    }

    pub(crate) fn tags(self) -> usize {
        (self.get(0) >> 48) as usize
    }

    pub(crate) fn hash(self) -> u64 {
        self.get(1)
    }

    pub(crate) fn next_in_bucket(self) -> Cell {
        self.memory.valid(low(self.get(2)))
    }

    pub(crate) fn set_next_in_bucket(self, cell: Cell) {
        self.set(2, self.get(2) & !0xffff_ffff | u64::from(cell));
    }

    pub(crate) fn value_length(self) -> usize {
        (self.get(2) >> 32) as usize
    }

    /// Returns the neighbour towards the end of the queue that is evicted first.
    pub(crate) fn older(self) -> Cell {
        self.memory.valid(low(self.get(3)))
    }

    pub(crate) fn newer(self) -> Cell {
        self.memory.valid(self.get(3) >> 32)
    }

    pub(crate) fn set_neighbours(self, older: Cell, newer: Cell) {
        self.set(3, u64::from(older) | u64::from(newer) << 32);
    }

    /// Returns when the entry expires, in microseconds of the cache's clock; 0 is never.
    pub(crate) fn expires(self) -> u64 {
        self.get(4)
    }

    /// Returns the time from which on the value is to be computed again, although it may still be used; 0 is never.
    pub(crate) fn stale(self) -> u64 {
        self.get(5)
    }

    /// Sets the word that is `stale` for values. In a claim it is the start of the owner's process, in a session the time of
    /// its start.
    pub(crate) fn set_stale(self, stale: u64) {
        self.set(5, stale);
    }

    pub(crate) fn set_expires(self, expires: u64) {
        self.set(4, expires);
    }

    pub(crate) fn int(self) -> u64 {
        self.get(6)
    }

    /// Sets the number. The new sequence number must be stored before, so that a process that dies in between has changed
    /// nothing.
    pub(crate) fn set_int(self, value: u64) {
        self.memory.cell(self.cell)[6].store(value, Ordering::Release);
    }

    pub(crate) fn key_length(self) -> usize {
        (self.get(7) & 0xffff) as usize
    }

    pub(crate) fn queue(self) -> Queue {
        Queue::of(self.get(7) >> 16 & 0xff)
    }

    pub(crate) fn set_queue(self, queue: Queue) {
        self.set(7, self.get(7) & !0xff_0000 | (queue as u64) << 16);
    }

    pub(crate) fn cells(self) -> usize {
        (self.get(7) >> 32) as usize
    }

    pub(crate) fn is_expired(self, now: u64) -> bool {
        let expires = self.expires();
        expires != 0 && expires <= now
    }

    /// Returns whether the entry is neither expired nor cleared, and none of its tags was deleted.
    pub(crate) fn is_alive(self, now: u64) -> bool {
        let is_kept = self.space().is_some_and(Space::is_kept);
        !self.is_expired(now)
            && (is_kept || self.sequence() > self.memory.epoch())
            && self.validators().all(|(cell, sequence)| {
                cell != 0 && self.memory.sequence(cell).load(Ordering::Relaxed) == sequence
            })
    }

    /// Returns the tags of the entry: the cell and the sequence number that each had when the entry was written.
    pub(crate) fn validators(self) -> impl Iterator<Item = (Cell, u64)> + 'a {
        let mut words = self.memory.payload(self.cell);
        (0..self.tags().min(MAX_TAGS)).map(move |_| {
            let (cell, sequence) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
            (self.memory.valid(cell), sequence)
        })
    }

    pub(crate) fn has_key(self, space: Space, hash: u64, key: &[u8]) -> bool {
        self.hash() == hash
            && self.space() == Some(space)
            && self.key_length() == key.len()
            && self.memory.is_key(self, key)
    }
}

impl Memory {
    pub(crate) fn head(&self, cell: Cell) -> Head<'_> {
        Head { memory: self, cell }
    }
}
