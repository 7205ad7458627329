//! How many connections each worker slot has, where all workers can see it: who has clearly more than another hands the
//! next one over.
//!
//! One word per slot: the process that serves there, and its open connections. A word is changed for its process only,
//! so that whatever comes late from or for a predecessor changes nothing of the successor's.

mod addresses;

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapping::{self, Mapping};

use self::addresses::SKETCH;

const MAGIC: u64 = u64::from_le_bytes(*b"HLOADS\x02\x00");
const AT_SLOTS: usize = 1;
/// Which addresses share a count is not for clients to know.
const AT_SECRET: usize = 2;
/// The word of each slot; behind them what [`addresses`] has of each.
const AT_COUNTS: usize = 3;

fn words(slots: usize) -> usize {
    AT_COUNTS + slots * (1 + SKETCH)
}

/// The shared table.
#[derive(Debug)]
pub struct ConnectionCounts {
    mapping: Mapping,
}

/// What a slot had at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotCount {
    word: u64,
}

impl SlotCount {
    fn new(pid: u32, connections: u32) -> SlotCount {
        let word = u64::from(pid) << 32 | u64::from(connections);
        SlotCount { word }
    }

    /// The process that serves there.
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
    /// Memory for `slots` slots; [`ConnectionCounts::map`] it in every process.
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

    /// Change the slot's word, if it is this process's; what it is now.
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

    /// From now on `pid` serves in this slot.
    pub fn enter(&self, slot: u32, pid: u32) {
        self.word(slot)
            .store(SlotCount::new(pid, 0).word, Ordering::Release);
    }

    /// The same with the connections it has, unless another process does.
    pub fn enter_again(&self, slot: u32, pid: u32, connections: u32) {
        let _ = self.word(slot).compare_exchange(
            0,
            SlotCount::new(pid, connections).word,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    /// It takes no more connections there, or is gone.
    pub fn leave(&self, slot: u32, pid: u32) {
        let _ = self.change(slot, pid, |_| SlotCount::new(0, 0));
    }

    /// It has one more; how many that makes. `None` if it is not (or no longer) the one that serves there.
    pub fn add(&self, slot: u32, pid: u32) -> Option<u32> {
        self.change(slot, pid, |count| count.plus(1))
            .map(SlotCount::connections)
    }

    /// It has one less.
    pub fn take(&self, slot: u32, pid: u32) {
        let _ = self.change(slot, pid, |count| count.plus(-1));
    }

    /// `None` if no worker serves there.
    pub fn count_of(&self, slot: u32) -> Option<SlotCount> {
        let word = self.word(slot).load(Ordering::Acquire);
        (word != 0).then_some(SlotCount { word })
    }

    /// Connections of all slots.
    pub fn total(&self) -> u64 {
        let counts = (0..self.slots()).filter_map(|slot| self.count_of(slot));
        counts.map(|count| u64::from(count.connections())).sum()
    }

    /// Count one more for a slot in which nothing has changed since `seen`; false if something has.
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
