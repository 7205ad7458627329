//! Integers, which are changed in place.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Encoding, Head, MAX_TAGS, Space, cells_for};
use crate::operation::{Refused, Write};
use crate::recovery::is_key;

impl Cache {
    /// Adds to an integer. If there is none, it is created with the options of `write`.
    pub fn increment(&self, by: i64, write: &Write<'_>) -> Result<i64, Refused> {
        if !is_key(Space::Value, write.key) || write.tags.len() > MAX_TAGS {
            return Err(Refused::Key);
        }
        let _held = self.held()?;
        self.memory.count(Counter::Writes, 1);
        let Some(head) = self.alive(Space::Value, write.key) else {
            let cells = cells_for(write.tags.len(), write.key.len(), 0) + write.tags.len();
            let validators = self.prepare(write.tags, &[], cells)?;
            let write = Write {
                int: by,
                encoding: Encoding::Int,
                bytes: &[],
                ..*write
            };
            self.insert(Space::Value, &write, &validators)?;
            return Ok(by);
        };
        if head.encoding() != Encoding::Int {
            return Err(Refused::NotInt);
        }
        let sum = head
            .int()
            .cast_signed()
            .checked_add(by)
            .ok_or(Refused::Overflow)?;
        self.change(head, sum);
        Ok(sum)
    }

    fn change(&self, head: Head<'_>, number: i64) {
        // The sequence number changes first: from here on no copy of the old number is current, whenever this process dies.
        self.memory
            .sequence(head.cell)
            .swap(self.memory.next_sequence(), Ordering::AcqRel);
        head.set_int(number.cast_unsigned());
    }

    /// Writes an integer over an integer in place, if nothing else of the entry changes; returns whether it did. The caller
    /// holds the lock.
    pub(crate) fn replaces_number(&self, write: &Write<'_>) -> bool {
        let is_plain = write.encoding == Encoding::Int
            && (write.ttl, write.fresh) == (0, 0)
            && write.tags.is_empty()
            && write.validators.is_empty();
        let old = is_plain.then(|| self.alive(Space::Value, write.key));
        let old = old.flatten().filter(|head| {
            head.encoding() == Encoding::Int
                && (head.expires(), head.stale()) == (0, 0)
                && head.tags() == 0
        });
        old.inspect(|head| self.change(*head, write.int)).is_some()
    }
}
