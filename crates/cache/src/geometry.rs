//! The layout of the memory: header, ghosts, buckets, sequence numbers with counts of reads, cells.

use shm::LOCK_WORDS;

/// The number of words of a cell.
pub(crate) const CELL: usize = 32;
/// The smallest useful size in bytes.
pub(crate) const MIN_SIZE: u64 = 256 * 1024;
/// The most cells: four billion are more than any memory has.
const MAX_CELLS: usize = u32::MAX as usize - 2;

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HCACHE\x05\x00");

pub(crate) const AT_CELLS: usize = 1;
/// The position of the last sequence number that was used.
pub(crate) const AT_SEQUENCE: usize = 2;
/// The position of the epoch: values with this sequence number or a lower one have been cleared.
pub(crate) const AT_EPOCH: usize = 3;
/// The position of the secret of two words with which keys are hashed.
pub(crate) const AT_SECRET: usize = 4;
pub(crate) const AT_LOCK: usize = 8;
pub(crate) const AT_LISTS: usize = AT_LOCK + LOCK_WORDS;
pub(crate) const AT_COUNTERS: usize = 32;
/// The position of a lock that the server's process holds while it lives.
pub(crate) const AT_SERVED: usize = 48;
/// The position of the number of sessions.
pub(crate) const AT_SESSIONS: usize = 56;
/// The position of the state of the second tier, see [`Tier`](crate::Tier).
pub(crate) const AT_TIER: usize = 57;
pub(crate) const HEADER: usize = 64;

/// The layout of the words, which follows from the number of cells alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) cells: usize,
    pub(crate) buckets: usize,
    pub(crate) ghosts: usize,
}

impl Geometry {
    pub(crate) fn of_cells(cells: usize) -> Geometry {
        let half = (cells / 2).max(64).next_power_of_two();
        Geometry {
            cells,
            buckets: half,
            ghosts: half / 2,
        }
    }

    /// Returns the layout with the most cells that fit in `bytes` bytes.
    pub(crate) fn of_size(bytes: u64) -> Geometry {
        let words = usize::try_from(bytes.max(MIN_SIZE) / 8).unwrap_or(usize::MAX);
        let mut cells = (words / CELL).min(MAX_CELLS);
        while Geometry::of_cells(cells).words() > words {
            cells -= 1 + cells / 256;
        }
        Geometry::of_cells(cells)
    }

    pub(crate) fn words(&self) -> usize {
        self.at_cells() + (self.cells + 1) * CELL
    }

    pub(crate) fn at_ghosts(&self) -> usize {
        HEADER
    }

    pub(crate) fn at_buckets(&self) -> usize {
        self.at_ghosts() + self.ghosts
    }

    /// Returns the position of the table with two words for each cell: its sequence number and its count of reads. Cells are
    /// numbered from 1.
    pub(crate) fn at_sequences(&self) -> usize {
        self.at_buckets() + self.buckets
    }

    pub(crate) fn at_cells(&self) -> usize {
        (self.at_sequences() + (self.cells + 1) * 2).next_multiple_of(CELL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_used_and_not_exceeded() {
        for bytes in [MIN_SIZE, 1 << 20, 4 << 20, 64 << 20, 1 << 30] {
            let geometry = Geometry::of_size(bytes);
            let used = geometry.words() as u64 * 8;
            assert!(used <= bytes, "{bytes}: {used}");
            let cells = (geometry.cells * CELL * 8) as u64;
            assert!(cells * 100 > bytes * 88, "{bytes}: {cells} for cells");
        }
    }
}
