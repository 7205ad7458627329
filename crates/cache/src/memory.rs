//! The memory as numbers with names. Any number that is read there may be wrong, so none leads out of it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use shm::Mapping;

use crate::geometry::{AT_CELLS, AT_EPOCH, AT_LOCK, AT_SERVED, AT_STAMP, CELL, Geometry, MAGIC};

/// The number of a cell; 0 is none.
pub(crate) type Cell = u32;

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) mapping: Mapping,
    pub(crate) geometry: Geometry,
    /// As the geometry says.
    at_stamps: usize,
    at_cells: usize,
}

/// Nanoseconds since 1970: more than the stamps that were given until now, of which each took longer than one.
fn first_stamp() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0))
}

impl Memory {
    /// A new one of at most that many bytes.
    pub(crate) fn create(bytes: u64) -> io::Result<OwnedFd> {
        let geometry = Geometry::of_size(bytes);
        let fd = shm::create_file(c"hearth-cache", geometry.words())?;
        let mapping = Mapping::of(&fd)?;
        shm::create_lock(&mapping, AT_LOCK)?;
        shm::create_lock(&mapping, AT_SERVED)?;
        mapping[AT_CELLS].store(geometry.cells as u64, Ordering::Relaxed);
        // No earlier memory gave a stamp as high: a copy of its entries is none of ours, and fencing tokens go on growing.
        mapping[AT_STAMP].store(first_stamp(), Ordering::Relaxed);
        mapping[0].store(MAGIC, Ordering::Release);
        Ok(fd)
    }

    pub(crate) fn map(fd: &OwnedFd) -> io::Result<Memory> {
        let refuse = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mapping = Mapping::of(fd)?;
        if mapping.len() < crate::geometry::HEADER || mapping[0].load(Ordering::Acquire) != MAGIC {
            return Err(refuse("this is not a cache, or one of another version"));
        }
        let cells = mapping[AT_CELLS].load(Ordering::Relaxed);
        let geometry = usize::try_from(cells)
            .ok()
            .filter(|cells| cells.saturating_mul(CELL) <= mapping.len())
            .map(Geometry::of_cells)
            .filter(|geometry| geometry.words() == mapping.len())
            .ok_or_else(|| refuse("the cache says another size than it has"))?;
        Ok(Memory {
            mapping,
            geometry,
            at_stamps: geometry.at_stamps(),
            at_cells: geometry.at_cells(),
        })
    }

    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.mapping[at]
    }

    /// A number that only holders of the lock touch.
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.mapping[at].load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, at: usize, value: u64) {
        self.mapping[at].store(value, Ordering::Relaxed);
    }

    /// A number of a cell that is one; anything else is none.
    pub(crate) fn valid(&self, cell: u64) -> Cell {
        if cell <= self.geometry.cells as u64 {
            cell as Cell
        } else {
            0
        }
    }

    #[inline]
    pub(crate) fn stamp(&self, cell: Cell) -> &AtomicU64 {
        &self.mapping[self.at_stamps + 2 * cell as usize]
    }

    /// How often it was read since it was last considered for eviction, up to 3.
    #[inline]
    pub(crate) fn mark(&self, cell: Cell) -> &AtomicU64 {
        &self.mapping[self.at_stamps + 2 * cell as usize + 1]
    }

    #[inline]
    pub(crate) fn cell(&self, cell: Cell) -> &[AtomicU64] {
        let at = self.at_cells + cell as usize * CELL;
        &self.mapping[at..at + CELL]
    }

    /// One that was never given before. Held by the lock.
    pub(crate) fn next_stamp(&self) -> u64 {
        self.mapping[AT_STAMP].fetch_add(1, Ordering::Relaxed) + 1
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.mapping[AT_EPOCH].load(Ordering::Acquire)
    }
}
