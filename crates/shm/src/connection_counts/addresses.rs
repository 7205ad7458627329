//! The number of connections that all workers have from one address, for the limit of each address.
//!
//! Each slot has a count-min sketch: in each of its rows an address has a count that it shares with a few others, and the
//! smallest of these counts is the best estimate. So the memory is bounded for any number of addresses. An address seems to
//! have a few connections too many if there are thousands of others, but never too few. As in the slot's word, a count
//! belongs to one process.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{AT_COUNTS, AT_SECRET, ConnectionCounts, SlotCount};

const ROWS: usize = 2;
const COUNTS: usize = 4096;
/// The number of words of a slot's sketch. Words that no connection has used take no memory.
pub(super) const SKETCH: usize = ROWS * COUNTS;

/// The positions of an address's counts, one in each row.
type CountPositions = [usize; ROWS];

impl ConnectionCounts {
    fn places(&self, address: IpAddr) -> CountPositions {
        let secret = self.mapping[AT_SECRET].load(Ordering::Relaxed);
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let hash = hasher.hash_one((secret, address)) as usize;
        [hash % COUNTS, COUNTS + hash / COUNTS % COUNTS]
    }

    fn address_count(&self, slot: u32, place: usize) -> &AtomicU64 {
        let sketches = AT_COUNTS + self.slots() as usize;
        &self.mapping[sketches + slot as usize * SKETCH + place]
    }

    fn serves(&self, slot: u32, pid: u32) -> bool {
        self.count_of(slot).is_some_and(|count| count.pid() == pid)
    }

    /// Counts one more connection from this address, if `pid` serves in this slot.
    pub fn add_of(&self, slot: u32, pid: u32, address: IpAddr) {
        let add = |word| {
            let known = SlotCount { word };
            let known = match known.pid() == pid {
                true => known,
                false => SlotCount::new(pid, 0),
            };
            self.serves(slot, pid).then(|| known.plus(1).word)
        };
        for place in self.places(address) {
            let count = self.address_count(slot, place);
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        }
    }

    /// Counts one connection from this address less.
    pub fn take_of(&self, slot: u32, pid: u32, address: IpAddr) {
        let take = |word| {
            let known = SlotCount { word };
            (known.pid() == pid).then(|| known.plus(-1).word)
        };
        for place in self.places(address) {
            let count = self.address_count(slot, place);
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        }
    }

    /// Returns how many connections the other slots have from this address.
    pub fn elsewhere_of(&self, slot: u32, address: IpAddr) -> u64 {
        let others = || (0..self.slots()).filter(|other| *other != slot);
        let in_row = |place| {
            let counts = others().map(|other| self.count_at(other, place));
            counts.sum()
        };
        self.places(address)
            .map(in_row)
            .into_iter()
            .min()
            .unwrap_or(0)
    }

    fn count_at(&self, slot: u32, place: usize) -> u64 {
        let word = self.address_count(slot, place).load(Ordering::Relaxed);
        let count = SlotCount { word };
        match self.serves(slot, count.pid()) {
            true => count.connections().into(),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(slots: u32) -> ConnectionCounts {
        let table = ConnectionCounts::map(&ConnectionCounts::create(slots).unwrap()).unwrap();
        (0..slots).for_each(|slot| table.enter(slot, 100 + slot));
        table
    }

    fn address(n: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(n).into()
    }

    #[test]
    fn an_address_is_counted_over_all_slots_but_ones_own() {
        let table = table(3);
        for (slot, times) in [(0, 1), (1, 20), (2, 300)] {
            (0..times).for_each(|_| table.add_of(slot, 100 + slot, address(7)));
        }
        let elsewhere = [0, 1, 2].map(|slot| table.elsewhere_of(slot, address(7)));
        assert_eq!(elsewhere, [320, 301, 21]);
        (0..20).for_each(|_| table.take_of(1, 101, address(7)));
        assert_eq!(table.elsewhere_of(0, address(7)), 300);
    }

    #[test]
    fn what_a_process_had_ends_with_it() {
        let table = table(2);
        table.add_of(1, 101, address(7));
        table.leave(1, 101);
        assert_eq!(table.elsewhere_of(0, address(7)), 0, "it is dead");
        table.enter(1, 5);
        assert_eq!(
            table.elsewhere_of(0, address(7)),
            0,
            "its successor has none"
        );
        table.add_of(1, 101, address(7));
        table.add_of(1, 5, address(7));
        table.take_of(1, 101, address(7));
        assert_eq!(table.elsewhere_of(0, address(7)), 1);
    }

    #[test]
    fn thousands_of_others_hardly_count() {
        let table = table(2);
        (0..4000).for_each(|n| table.add_of(1, 101, address(n)));
        let counts: Vec<u64> = (0..4000)
            .map(|n| table.elsewhere_of(0, address(n)))
            .collect();
        assert!(counts.iter().all(|count| *count >= 1));
        let too_many: u64 = counts.iter().map(|count| count - 1).sum();
        assert!(too_many < 4000, "{too_many} too many for 4000 addresses");
    }
}
