//! Recovery after a process died while it held the lock, or where derived data is inconsistent: everything but the entries
//! is rebuilt.

use std::sync::atomic::Ordering;

use crate::counters::Counter;
use crate::entry::{Head, MAX_KEY, MAX_TAGS, Space, cells_for};
use crate::geometry::{AT_SEQUENCE, CELL};
use crate::memory::{Cell, Memory};

impl Memory {
    /// Keeps each entry that is complete, and frees everything else. An interrupted recovery can be repeated.
    pub(crate) fn recover(&self) {
        let mut used = vec![false; self.geometry.cells + 1];
        let mut heads: Vec<(u64, Cell)> = (1..=self.geometry.cells as Cell)
            .map(|cell| (self.sequence(cell).load(Ordering::Relaxed), cell))
            .filter(|(sequence, _)| *sequence != 0)
            .collect();
        // The newest come first: of two entries with one key, the older one was about to be freed.
        heads.sort_unstable_by(|a, b| b.cmp(a));
        self.reset_index();
        self.reset_lists();
        let highest = heads.first().map_or(0, |(sequence, _)| *sequence);
        self.word(AT_SEQUENCE).fetch_max(highest, Ordering::Relaxed);
        heads.retain(|(_, cell)| {
            let is_kept = self.keep(self.head(*cell), &mut used);
            if !is_kept {
                self.sequence(*cell).swap(0, Ordering::AcqRel);
            }
            is_kept
        });
        for (_, cell) in heads.iter().rev() {
            let head = self.head(*cell);
            self.enqueue(head, head.queue());
        }
        (1..=self.geometry.cells as Cell)
            .rev()
            .filter(|cell| !used[*cell as usize])
            .for_each(|cell| self.push_free(cell));
        self.set_touched(self.geometry.cells as Cell);
        self.count(Counter::Recovered, 1);
    }

    fn keep(&self, head: Head<'_>, used: &mut [bool]) -> bool {
        let Some(space) = head.space() else {
            return false;
        };
        if !self.is_whole(head, used) || !(space.is_kept() || head.sequence() > self.epoch()) {
            return false;
        }
        let key = self.key(head);
        if self.hash(space, &key) != head.hash() || self.find(space, head.hash(), &key).is_some() {
            return false;
        }
        self.mark_used(head, used);
        self.link(head);
        true
    }

    /// Returns whether the entry's lengths are consistent, and its cells belong to no other entry.
    fn is_whole(&self, head: Head<'_>, used: &[bool]) -> bool {
        let (tags, key, value) = (head.tags(), head.key_length(), head.value_length());
        if tags > MAX_TAGS
            || key > MAX_KEY
            || value > self.geometry.cells * CELL * 8
            || head.cells() != cells_for(tags, key, value)
        {
            return false;
        }
        let (mut cell, mut count) = (head.cell, 0);
        while cell != 0 && count <= head.cells() {
            if used[cell as usize]
                || (count > 0 && self.sequence(cell).load(Ordering::Relaxed) != 0)
            {
                return false;
            }
            cell = self.next_cell(cell);
            count += 1;
        }
        count == head.cells()
    }

    fn mark_used(&self, head: Head<'_>, used: &mut [bool]) {
        let mut cell = head.cell;
        for _ in 0..head.cells() {
            used[cell as usize] = true;
            cell = self.next_cell(cell);
        }
    }
}

/// Returns whether an entry of this space may have this key.
pub(crate) fn is_key(space: Space, key: &[u8]) -> bool {
    key.len() <= MAX_KEY && (!key.is_empty() || space == Space::Tag)
}
