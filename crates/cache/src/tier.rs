//! The memory as the first of two tiers: what it says of the second one, and what is done here on its behalf.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Space, cells_for};
use crate::geometry::{AT_EPOCH, AT_TIER};
use crate::index::hash;
use crate::operation::{Mark, Refused, Write};
use crate::recovery::is_key;

/// The second tier, which several machines share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// There is none: this memory is the cache.
    None = 0,
    /// It does not answer, so this memory is the cache for now.
    Away = 1,
    /// It is the cache, and what is here are copies of it.
    There = 2,
}

impl Cache {
    #[inline]
    pub fn tier(&self) -> Tier {
        match self.memory.word(AT_TIER).load(Ordering::Acquire) {
            0 => Tier::None,
            1 => Tier::Away,
            _ => Tier::There,
        }
    }

    pub fn set_tier(&self, tier: Tier) {
        self.memory
            .word(AT_TIER)
            .store(tier as u64, Ordering::Release);
    }

    /// All values and tags are gone, without the lock, so also where its holder is stopped. Computations stay.
    fn end_all(&self) {
        let epoch = self.memory.next_stamp();
        self.memory
            .word(AT_EPOCH)
            .fetch_max(epoch, Ordering::AcqRel);
    }

    /// The value of this key has changed in the second tier; without the lock, if its holder is stopped, all are gone.
    pub fn forget(&self, key: &[u8]) {
        self.forget_in(Space::Value, key);
    }

    /// A tag was deleted in the second tier.
    pub fn forget_tag(&self, tag: &[u8]) {
        self.forget_in(Space::Tag, tag);
    }

    fn forget_in(&self, space: Space, key: &[u8]) {
        let Ok(_held) = self.held() else {
            return self.end_all();
        };
        if let Some(head) = self.alive(space, key) {
            self.memory.count(Counter::Invalidated, 1);
            self.memory.remove(head);
        }
        if space == Space::Value {
            self.forget_absence(key);
        }
    }

    /// The second tier has no value of this key: [`Known::Absent`](crate::Known) until it is written or forgotten here. An entry like
    /// others, so reads of absent keys, however many, push out nothing that is read.
    pub fn note_absent(&self, key: &[u8]) -> Result<(), Refused> {
        if !is_key(Space::Absence, key) {
            return Err(Refused::Key);
        }
        let _held = self.held()?;
        if !self
            .memory
            .make_room(cells_for(0, key.len(), 0), self.now())
        {
            return Err(Refused::Full);
        }
        self.insert(Space::Absence, &Write::int(key, 0), &[])?;
        Ok(())
    }

    /// Held by the lock.
    pub(crate) fn forget_absence(&self, key: &[u8]) {
        if self.tier() == Tier::None {
            return;
        }
        if let Some(head) = self
            .memory
            .find(Space::Absence, hash(Space::Absence, key), key)
        {
            self.memory.remove(head);
        }
    }

    /// All values and tags have changed in the second tier, or may have.
    pub fn forget_all(&self) {
        if self.clear().is_err() {
            self.end_all();
        }
    }

    /// The names and versions of these tags, if each still is what it was.
    pub fn versions(&self, marks: &[Mark]) -> Option<Vec<(Vec<u8>, i64)>> {
        let _held = self.held().ok()?;
        let tags = marks.iter().map(|mark| {
            let head = self.memory.head(self.memory.valid(mark.cell));
            let is_there = head.cell != 0
                && head.stamp() == mark.stamp
                && head.space() == Some(Space::Tag)
                && head.is_alive(self.now());
            is_there.then(|| (self.memory.key(head), head.int().cast_signed()))
        });
        tags.collect()
    }
}
