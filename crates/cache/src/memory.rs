//! The memory as words with names. Any word may contain a wrong number, so no access follows one outside of the memory.

use std::sync::atomic::Ordering;

use crate::geometry::{AT_EPOCH, AT_SECRET, AT_SEQUENCE, CELL, Geometry};
use crate::words::{AtomicU64, Mapping};

/// The number of a cell; 0 is none.
pub(crate) type Cell = u32;

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) mapping: Mapping,
    pub(crate) geometry: Geometry,
    /// The key of the hash of keys, copied from the header.
    pub(crate) secret: [u64; 2],
    /// Positions from the geometry.
    at_sequences: usize,
    at_cells: usize,
}

impl Memory {
    pub(crate) fn of(mapping: Mapping, geometry: Geometry) -> Memory {
        Memory {
            secret: [AT_SECRET, AT_SECRET + 1].map(|at| mapping[at].load(Ordering::Relaxed)),
            mapping,
            geometry,
            at_sequences: geometry.at_sequences(),
            at_cells: geometry.at_cells(),
        }
    }

    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.mapping[at]
    }

    /// Reads a word that only holders of the lock access.
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.mapping[at].load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, at: usize, value: u64) {
        self.mapping[at].store(value, Ordering::Relaxed);
    }

    /// Returns the number as that of a cell, or 0 if there is no such cell.
    pub(crate) fn valid(&self, cell: u64) -> Cell {
        if cell <= self.geometry.cells as u64 {
            cell as Cell
        } else {
            0
        }
    }

    #[inline]
    pub(crate) fn sequence(&self, cell: Cell) -> &AtomicU64 {
        &self.mapping[self.at_sequences + 2 * cell as usize]
    }

    /// Returns the number of reads since the entry was last considered for eviction, up to 3.
    #[inline]
    pub(crate) fn reads(&self, cell: Cell) -> &AtomicU64 {
        &self.mapping[self.at_sequences + 2 * cell as usize + 1]
    }

    #[inline]
    pub(crate) fn cell(&self, cell: Cell) -> &[AtomicU64] {
        let at = self.at_cells + cell as usize * CELL;
        &self.mapping[at..at + CELL]
    }

    /// Returns a sequence number that was never used before. The caller holds the lock.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.mapping[AT_SEQUENCE].fetch_add(1, Ordering::Relaxed) + 1
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.mapping[AT_EPOCH].load(Ordering::Acquire)
    }
}
