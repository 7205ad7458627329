//! The index from keys to entries: buckets with chains through the entries themselves.

use crate::entry::{Head, Space};
use crate::memory::{Cell, Memory};

/// Hashes a key: FNV-1a over words, with a finish that makes all bits count, and with a different seed for each space.
pub(crate) fn hash(space: Space, key: &[u8]) -> u64 {
    let seed = 0xcbf2_9ce4_8422_2325 ^ space as u64 ^ (key.len() as u64) << 8;
    let hash = key.chunks(8).fold(seed, |hash, chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let mixed = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    });
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

impl Memory {
    fn bucket(&self, hash: u64) -> usize {
        self.geometry.at_buckets() + (hash as usize & (self.geometry.buckets - 1))
    }

    /// Returns the entry of this key, whether it is alive or not.
    pub(crate) fn find(&self, space: Space, hash: u64, key: &[u8]) -> Option<Head<'_>> {
        let mut cell = self.valid(self.get(self.bucket(hash)));
        for _ in 0..self.geometry.cells {
            if cell == 0 {
                return None;
            }
            let head = self.head(cell);
            if head.has_key(space, hash, key) {
                return Some(head);
            }
            cell = head.next_in_bucket();
        }
        None
    }

    pub(crate) fn link(&self, head: Head<'_>) {
        let bucket = self.bucket(head.hash());
        head.set_next_in_bucket(self.valid(self.get(bucket)));
        self.set(bucket, u64::from(head.cell));
    }

    pub(crate) fn unlink(&self, head: Head<'_>) {
        let bucket = self.bucket(head.hash());
        let mut cell = self.valid(self.get(bucket));
        if cell == head.cell {
            return self.set(bucket, u64::from(head.next_in_bucket()));
        }
        for _ in 0..self.geometry.cells {
            let before: Cell = cell;
            if before == 0 {
                return;
            }
            cell = self.head(before).next_in_bucket();
            if cell == head.cell {
                return self.head(before).set_next_in_bucket(head.next_in_bucket());
            }
        }
    }

    pub(crate) fn reset_index(&self) {
        let at = self.geometry.at_buckets();
        (at..at + self.geometry.buckets).for_each(|bucket| self.set(bucket, 0));
    }
}
