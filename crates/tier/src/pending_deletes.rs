//! The keys written while Redis was away. They are deleted there when Redis is back, because another machine may have written
//! too; a number that was only incremented is incremented there instead. So are locks that no task holds any more.

use std::collections::{HashMap, HashSet, VecDeque};

/// The number of keys and tags above which the whole cache is cleared instead when Redis is back.
const MOST: usize = 10_000;
/// The most locks that are noted; further ones are held until their time is over.
const MOST_LOCKS: usize = 1000;

/// The change of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Written,
    /// Only additions, with this sum; `ttl` is that of a new number, in microseconds.
    Added {
        by: i64,
        ttl: u64,
    },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PendingDeletes {
    /// The cache was cleared, before all other changes.
    pub(crate) cleared: bool,
    pub(crate) tags: HashSet<Vec<u8>>,
    pub(crate) keys: HashMap<Vec<u8>, Change>,
    /// Locks that are given back, with their tokens or the names of the attempts that may have taken them.
    pub(crate) locks: VecDeque<(Vec<u8>, String)>,
}

impl PendingDeletes {
    pub(crate) fn len(&self) -> usize {
        usize::from(self.cleared) + self.tags.len() + self.keys.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = PendingDeletes {
            cleared: true,
            locks: std::mem::take(&mut self.locks),
            ..PendingDeletes::default()
        };
    }

    pub(crate) fn lock(&mut self, name: &[u8], token: String) {
        self.locks.push_back((name.to_vec(), token));
        if self.locks.len() > MOST_LOCKS {
            self.locks.pop_front();
        }
    }

    pub(crate) fn tag(&mut self, tag: &[u8]) {
        self.tags.insert(tag.to_vec());
        self.bound();
    }

    pub(crate) fn written(&mut self, key: &[u8]) {
        self.keys.insert(key.to_vec(), Change::Written);
        self.bound();
    }

    pub(crate) fn added(&mut self, key: &[u8], by: i64, ttl: u64) {
        let change = match self.keys.get(key) {
            None => Change::Added { by, ttl },
            Some(Change::Added { by: before, ttl }) => match before.checked_add(by) {
                Some(by) => Change::Added { by, ttl: *ttl },
                None => Change::Written,
            },
            Some(Change::Written) => Change::Written,
        };
        self.keys.insert(key.to_vec(), change);
        self.bound();
    }

    fn bound(&mut self) {
        if self.keys.len() + self.tags.len() > MOST {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_are_summed_until_something_else_is_written() {
        let mut pending_deletes = PendingDeletes::default();
        pending_deletes.added(b"n", 2, 5);
        pending_deletes.added(b"n", 3, 7);
        assert_eq!(
            pending_deletes.keys[&b"n"[..]],
            Change::Added { by: 5, ttl: 5 }
        );
        pending_deletes.added(b"n", i64::MAX, 0);
        assert_eq!(pending_deletes.keys[&b"n"[..]], Change::Written);
        pending_deletes.written(b"m");
        pending_deletes.added(b"m", 1, 0);
        assert_eq!(pending_deletes.keys[&b"m"[..]], Change::Written);
    }

    #[test]
    fn too_many_are_all() {
        let mut pending_deletes = PendingDeletes::default();
        (0..=MOST).for_each(|n| pending_deletes.written(&n.to_le_bytes()));
        assert!(
            pending_deletes.cleared
                && pending_deletes.keys.is_empty()
                && pending_deletes.len() == 1
        );
    }
}
