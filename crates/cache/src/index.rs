//! The index from keys to entries: buckets with chains through the entries themselves.

use siphasher::sip::SipHasher13;

use crate::entry::{Head, Space};
use crate::memory::{Cell, Memory};

impl Memory {
    /// Hashes a key with the memory's secret, so that no client can compute keys that collide, such as session ids.
    pub(crate) fn hash(&self, space: Space, key: &[u8]) -> u64 {
        // The space goes into the SipHash key: words of one key differ between spaces without a further block.
        let [first, second] = self.secret;
        SipHasher13::new_with_keys(first ^ space as u64, second).hash(key)
    }

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

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;
    use crate::Cache;
    use crate::geometry::MIN_SIZE;

    #[test]
    fn two_maps_of_one_memory_hash_alike_and_two_memories_do_not() {
        let file = Cache::create(MIN_SIZE).expect("memory");
        let other = Cache::create(MIN_SIZE).expect("memory");
        let hash = |file, space| {
            Memory::map(file)
                .expect("a cache")
                .hash(space, b"session id")
        };
        assert_eq!(hash(&file, Space::Value), hash(&file, Space::Value));
        assert_ne!(hash(&file, Space::Value), hash(&file, Space::Tag));
        assert_ne!(hash(&file, Space::Value), hash(&other, Space::Value));
    }
}
