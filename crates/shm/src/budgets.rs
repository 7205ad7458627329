//! Budgets that all workers of a server share, such as the total number of connections to one database.
//!
//! Each worker counts what it holds in a row of its own; the sum over all rows is the amount in use. To acquire, a worker
//! adds to its row first and subtracts again if the sum is then too high, so the total is never exceeded. Two workers that
//! try to take the last unit at once may both fail, and try again. When a worker dies, the supervisor clears its row, which
//! releases what the worker held.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapping::{self, Mapping};

/// The number of budgets of one server.
const BUDGETS: usize = 32;
/// The number of processes that can hold something at the same time: workers of all generations.
const ROWS: usize = 1024;
const AT_BUDGETS: usize = 8;
const AT_ROWS: usize = 128;
const ROW: usize = 1 + BUDGETS;
const MAGIC: u64 = u64::from_le_bytes(*b"HBUDGE\x01\x00");

/// The shared table of budgets.
#[derive(Debug)]
pub struct Budgets {
    mapping: Mapping,
}

/// The row of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder(usize);

/// Returns the FNV-1a hash of a name; never 0, which marks a free place.
fn hash(name: &[u8]) -> u64 {
    name.iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
        .max(1)
}

impl Budgets {
    /// Creates the memory of a table; each process maps it with [`Budgets::map`].
    pub fn create() -> io::Result<OwnedFd> {
        let fd = mapping::create_file(c"hearth-budgets", AT_ROWS + ROWS * ROW)?;
        Mapping::of(&fd)?[0].store(MAGIC, Ordering::Relaxed);
        Ok(fd)
    }

    pub fn map(fd: &OwnedFd) -> io::Result<Budgets> {
        let mapping = Mapping::of(fd)?;
        if mapping.len() != AT_ROWS + ROWS * ROW || mapping[0].load(Ordering::Relaxed) != MAGIC {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "this is not a table of budgets",
            ));
        }
        Ok(Budgets { mapping })
    }

    fn name(&self, budget: usize) -> &AtomicU64 {
        &self.mapping[AT_BUDGETS + 2 * budget]
    }

    fn total(&self, budget: usize) -> &AtomicU64 {
        &self.mapping[AT_BUDGETS + 2 * budget + 1]
    }

    fn owner(&self, row: usize) -> &AtomicU64 {
        &self.mapping[AT_ROWS + row * ROW]
    }

    fn held(&self, row: usize, budget: usize) -> &AtomicU64 {
        &self.mapping[AT_ROWS + row * ROW + 1 + budget]
    }

    /// Claims a free row for the process `pid`; `None` if there is none.
    pub fn claim(&self, pid: u32) -> Option<Holder> {
        let pid = u64::from(pid);
        (0..ROWS)
            .find(|&row| {
                self.owner(row)
                    .compare_exchange(0, pid, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            })
            .map(Holder)
    }

    /// Releases what the process `pid` held, which has exited.
    pub fn reap(&self, pid: u32) {
        for row in
            (0..ROWS).filter(|&row| self.owner(row).load(Ordering::Acquire) == u64::from(pid))
        {
            (0..BUDGETS).for_each(|budget| self.held(row, budget).store(0, Ordering::Release));
            self.owner(row).store(0, Ordering::Release);
        }
    }

    /// Returns the budget of this name, and sets its total. `None` if there are too many names.
    pub fn open(&self, name: &[u8], total: u64) -> Option<usize> {
        let hash = hash(name);
        let budget = (0..BUDGETS).find(|&budget| {
            match self
                .name(budget)
                .compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => true,
                Err(known) => known == hash,
            }
        })?;
        self.total(budget).store(total, Ordering::Release);
        Some(budget)
    }

    /// Returns how much of the budget all processes hold together.
    pub fn used(&self, budget: usize) -> u64 {
        (0..ROWS)
            .filter(|&row| self.owner(row).load(Ordering::Acquire) != 0)
            .map(|row| self.held(row, budget).load(Ordering::SeqCst))
            .sum()
    }

    /// Returns how much all processes hold of the budget of this name; 0 if there is none.
    pub fn used_of(&self, name: &[u8]) -> u64 {
        let hash = hash(name);
        (0..BUDGETS)
            .find(|&budget| self.name(budget).load(Ordering::Acquire) == hash)
            .map_or(0, |budget| self.used(budget))
    }

    /// Takes `n`; returns false if that exceeded the total.
    pub fn acquire(&self, holder: Holder, budget: usize, n: u64) -> bool {
        let held = self.held(holder.0, budget);
        held.fetch_add(n, Ordering::SeqCst);
        if self.used(budget) <= self.total(budget).load(Ordering::Acquire) {
            return true;
        }
        held.fetch_sub(n, Ordering::SeqCst);
        false
    }

    /// Releases `n`.
    pub fn release(&self, holder: Holder, budget: usize, n: u64) {
        let held = self.held(holder.0, budget);
        let _ = held.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |held| {
            Some(held.saturating_sub(n))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Budgets {
        Budgets::map(&Budgets::create().unwrap()).unwrap()
    }

    #[test]
    fn the_total_holds_over_all_holders() {
        let table = table();
        let (a, b) = (table.claim(1).unwrap(), table.claim(2).unwrap());
        let db = table.open(b"db", 3).unwrap();
        assert_eq!(table.open(b"db", 3), Some(db));
        assert_ne!(table.open(b"other", 1), Some(db));
        assert!(table.acquire(a, db, 2) && table.acquire(b, db, 1));
        assert!(!table.acquire(b, db, 1));
        table.release(a, db, 1);
        assert!(table.acquire(b, db, 1));
        assert_eq!(table.used(db), 3);
        assert_eq!((table.used_of(b"db"), table.used_of(b"none")), (3, 0));
    }

    #[test]
    fn a_dead_holder_gives_everything_back() {
        let table = table();
        let (a, b) = (table.claim(1).unwrap(), table.claim(2).unwrap());
        let db = table.open(b"db", 2).unwrap();
        assert!(table.acquire(a, db, 2) && !table.acquire(b, db, 1));
        table.reap(1);
        assert!(table.acquire(b, db, 2));
        assert_eq!(table.claim(3), Some(a), "its row is free again");
    }

    #[test]
    fn threads_never_exceed_it() {
        let table = table();
        let db = table.open(b"db", 5).unwrap();
        let most = AtomicU64::new(0);
        let held = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for pid in 1..=4 {
                let (table, most, held) = (&table, &most, &held);
                let holder = table.claim(pid).unwrap();
                scope.spawn(move || {
                    for _ in 0..5_000 {
                        if table.acquire(holder, db, 2) {
                            most.fetch_max(
                                held.fetch_add(2, Ordering::SeqCst) + 2,
                                Ordering::SeqCst,
                            );
                            held.fetch_sub(2, Ordering::SeqCst);
                            table.release(holder, db, 2);
                        }
                    }
                });
            }
        });
        assert!((2..=5).contains(&most.into_inner()));
        assert_eq!(table.used(db), 0);
    }
}
