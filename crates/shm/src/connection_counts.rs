//! The number of connections of each worker slot, visible to all workers: a worker with clearly more connections than
//! another hands its next one off.
//!
//! One word per slot has the process that serves in the slot, and its number of open connections. A word is changed only for
//! its own process, so that a late change by or for a predecessor does not affect the successor's count.

mod addresses;

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapping::{self, Mapping};

use self::addresses::SKETCH;

const MAGIC: u64 = u64::from_le_bytes(*b"HLOADS\x02\x00");
const AT_SLOTS: usize = 1;
/// The position of a secret, so that clients cannot find out which addresses share a count.
const AT_SECRET: usize = 2;
/// The position of the slots' words; behind them are the sketches of all slots, see [`addresses`].
const AT_COUNTS: usize = 3;

fn words(slots: usize) -> usize {
    AT_COUNTS + slots * (1 + SKETCH)
}

/// The shared table of connection counts.
#[derive(Debug)]
pub struct ConnectionCounts {
    mapping: Mapping,
}

/// The count of a slot at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotCount {
    word: u64,
}

impl SlotCount {
    fn new(pid: u32, connections: u32) -> SlotCount {
        let word = u64::from(pid) << 32 | u64::from(connections);
        SlotCount { word }
    }

    /// Returns the process that serves in the slot.
    pub fn pid(self) -> u32 {
        (self.word >> 32) as u32
    }

    pub fn connections(self) -> u32 {
        self.word as u32
    }

    fn plus(self, connections: i32) -> SlotCount {
        SlotCount::new(
            self.pid(),
            self.connections().saturating_add_signed(connections),
        )
    }
}

impl ConnectionCounts {
    /// Creates memory for `slots` slots; each process maps it with [`ConnectionCounts::map`].
    pub fn create(slots: u32) -> io::Result<OwnedFd> {
        let fd = mapping::create_file(c"hearth-connections", words(slots as usize))?;
        let mapping = Mapping::of(&fd)?;
        mapping[AT_SECRET].store(RandomState::new().hash_one(slots), Ordering::Relaxed);
        mapping[AT_SLOTS].store(u64::from(slots), Ordering::Relaxed);
        mapping[0].store(MAGIC, Ordering::Release);
        Ok(fd)
    }

    pub fn map(fd: &OwnedFd) -> io::Result<ConnectionCounts> {
        let mapping = Mapping::of(fd)?;
        let fits = mapping.len() > AT_COUNTS
            && mapping[0].load(Ordering::Acquire) == MAGIC
            && words(mapping[AT_SLOTS].load(Ordering::Relaxed) as usize) == mapping.len();
        if !fits {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "this is not a table of connections",
            ));
        }
        Ok(ConnectionCounts { mapping })
    }

    pub fn slots(&self) -> u32 {
        ((self.mapping.len() - AT_COUNTS) / (1 + SKETCH)) as u32
    }

    fn word(&self, slot: u32) -> &AtomicU64 {
        &self.mapping[AT_COUNTS + slot as usize]
    }

    /// Changes the slot's word if the slot is that of `pid`; returns the new count.
    fn change(
        &self,
        slot: u32,
        pid: u32,
        to: impl Fn(SlotCount) -> SlotCount,
    ) -> Option<SlotCount> {
        let change = |word| {
            let known = SlotCount { word };
            (known.pid() == pid).then(|| to(known).word)
        };
        let before = self
            .word(slot)
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        before.ok().map(|word| to(SlotCount { word }))
    }

    /// Notes that `pid` serves in this slot from now on, without connections.
    pub fn enter(&self, slot: u32, pid: u32) {
        self.word(slot)
            .store(SlotCount::new(pid, 0).word, Ordering::Release);
    }

    /// Notes that `pid` serves in this slot, with its connections, unless another process does.
    pub fn enter_again(&self, slot: u32, pid: u32, connections: u32) {
        let _ = self.word(slot).compare_exchange(
            0,
            SlotCount::new(pid, connections).word,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    /// Notes that `pid` accepts no more connections in this slot, or has exited.
    pub fn leave(&self, slot: u32, pid: u32) {
        let _ = self.change(slot, pid, |_| SlotCount::new(0, 0));
    }

    /// Counts one more connection; returns the new number. `None` if `pid` does not serve in this slot (any more).
    pub fn add(&self, slot: u32, pid: u32) -> Option<u32> {
        self.change(slot, pid, |count| count.plus(1))
            .map(SlotCount::connections)
    }

    /// Counts one connection less.
    pub fn take(&self, slot: u32, pid: u32) {
        let _ = self.change(slot, pid, |count| count.plus(-1));
    }

    /// Returns the count of a slot; `None` if no worker serves in it.
    pub fn count_of(&self, slot: u32) -> Option<SlotCount> {
        let word = self.word(slot).load(Ordering::Acquire);
        (word != 0).then_some(SlotCount { word })
    }

    /// Returns the number of connections of all slots.
    pub fn total(&self) -> u64 {
        let counts = (0..self.slots()).filter_map(|slot| self.count_of(slot));
        counts.map(|count| u64::from(count.connections())).sum()
    }

    /// Counts one more connection for a slot that has not changed since `seen`; returns false if it has.
    pub fn give(&self, slot: u32, seen: SlotCount) -> bool {
        self.word(slot)
            .compare_exchange(
                seen.word,
                seen.plus(1).word,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(slots: u32) -> ConnectionCounts {
        ConnectionCounts::map(&ConnectionCounts::create(slots).unwrap()).unwrap()
    }

    #[test]
    fn a_word_is_changed_for_its_process_only() {
        let table = table(2);
        assert_eq!((table.slots(), table.count_of(1)), (2, None));
        table.enter(1, 7);
        assert_eq!(
            (table.add(1, 7), table.add(1, 7), table.add(1, 8)),
            (Some(1), Some(2), None)
        );
        table.enter(1, 8);
        table.take(1, 7);
        table.leave(1, 7);
        assert_eq!(table.count_of(1).map(SlotCount::pid), Some(8));
        table.enter(0, 9);
        table.add(0, 9);
        assert_eq!(table.total(), 1);
        table.take(1, 8);
        assert_eq!(table.count_of(1).map(SlotCount::connections), Some(0));
        table.leave(1, 8);
        assert_eq!(table.count_of(1), None);
        table.enter_again(1, 7, 5);
        table.enter_again(1, 8, 6);
        assert_eq!(table.count_of(1).map(SlotCount::connections), Some(5));
    }

    #[test]
    fn one_of_two_givers_must_look_again() {
        let table = table(1);
        table.enter(0, 7);
        let seen = table.count_of(0).unwrap();
        assert!(table.give(0, seen) && !table.give(0, seen));
        assert_eq!(table.count_of(0).map(SlotCount::connections), Some(1));
    }

    #[test]
    fn other_memory_is_refused() {
        let fd = mapping::create_file(c"test", 8).unwrap();
        assert!(ConnectionCounts::map(&fd).is_err());
    }
}
