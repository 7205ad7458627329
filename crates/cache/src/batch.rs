//! Several keys at once: the lock is taken once for all of them.

use std::ops::Range;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Form, Space};
use crate::operation::{Found, Refused, Stored, Write};
use crate::tier::Tier;

/// After that many keys another process has its turn.
const AT_ONCE: usize = 256;

/// What the memory knows of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Its value, whose bytes stand there in what was read.
    Value(Found, Range<usize>),
    /// The second tier has none: see [`Cache::note_absent`].
    Absent,
    Unknown,
}

impl Cache {
    /// Held by the lock. The bytes of the value come after what is in `into`.
    pub(crate) fn look(&self, key: &[u8], into: &mut Vec<u8>) -> Known {
        let Some(head) = self.alive(Space::Value, key) else {
            self.memory.count(Counter::Misses, 1);
            return self.absence(key);
        };
        self.memory.count(Counter::Hits, 1);
        let start = into.len();
        if head.form() != Form::Int {
            self.memory.value(head, into);
        }
        Known::Value(self.found(head), start..into.len())
    }

    fn absence(&self, key: &[u8]) -> Known {
        let noted = (self.tier() != Tier::None).then(|| self.alive(Space::Absence, key));
        match noted.flatten() {
            Some(head) => {
                self.touch(head);
                Known::Absent
            }
            None => Known::Unknown,
        }
    }

    /// What is known of each of these keys; the bytes of all values come after what is in `into`.
    pub fn read_many(&self, keys: &[&[u8]], into: &mut Vec<u8>) -> Result<Vec<Known>, Refused> {
        let mut known = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let _held = self.held()?;
            known.extend(keys.iter().map(|key| self.look(key, into)));
        }
        Ok(known)
    }

    /// Each for itself: what became of each.
    pub fn write_many(&self, writes: &[Write<'_>]) -> Vec<Result<Stored, Refused>> {
        let mut done = Vec::with_capacity(writes.len());
        for writes in writes.chunks(AT_ONCE) {
            match self.held() {
                Ok(_held) => done.extend(writes.iter().map(|write| {
                    let cells = self.check(write)?;
                    self.write_held(write, &[], cells)
                })),
                Err(why) => done.extend(writes.iter().map(|_| Err(why))),
            }
        }
        done
    }

    /// Of each, whether there was one.
    pub fn delete_many(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Refused> {
        self.remove_many(Space::Value, keys)
    }

    /// How many of these tags there were: no entry that was written with one of them is there any more.
    pub fn delete_tags(&self, tags: &[&[u8]]) -> Result<usize, Refused> {
        let removed = self.remove_many(Space::Tag, tags)?;
        Ok(removed.into_iter().filter(|was_there| *was_there).count())
    }

    fn remove_many(&self, space: Space, keys: &[&[u8]]) -> Result<Vec<bool>, Refused> {
        let mut removed = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let _held = self.held()?;
            removed.extend(keys.iter().map(|key| self.remove_held(space, key)));
        }
        Ok(removed)
    }
}
