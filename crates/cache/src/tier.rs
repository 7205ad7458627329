//! The memory as the first of two tiers: the state of the second tier, and the changes made here on its behalf.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::{Space, cells_for};
use crate::geometry::{AT_EPOCH, AT_TIER};
use crate::operation::{Refused, Validator, Write};
use crate::recovery::is_key;

/// The state of the second tier, which several machines share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// There is no second tier: this memory is the cache.
    None = 0,
    /// The second tier does not respond, so this memory is the cache for now.
    Away = 1,
    /// The second tier is the cache; this memory has copies of its entries.
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

    /// Ends all values and tags without the lock, so also while its holder is stopped. Computations stay.
    fn end_all(&self) {
        let epoch = self.memory.next_sequence();
        self.memory
            .word(AT_EPOCH)
            .fetch_max(epoch, Ordering::AcqRel);
    }

    /// Removes a value that has changed in the second tier. If the lock's holder is stopped, all values and tags end
    /// instead.
    pub fn forget(&self, key: &[u8]) {
        self.forget_in(Space::Value, key);
    }

    /// Removes a tag that was deleted in the second tier.
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

    /// Notes that the second tier has no value for this key: reads return [`Known::Absent`](crate::Known) until the key is
    /// written or forgotten here. The note is an entry like others, so that reads of any number of absent keys evict no
    /// entry that is read.
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

    /// Removes the note that a key is absent. The caller holds the lock.
    pub(crate) fn forget_absence(&self, key: &[u8]) {
        if self.tier() == Tier::None {
            return;
        }
        let hash = self.memory.hash(Space::Absence, key);
        if let Some(head) = self.memory.find(Space::Absence, hash, key) {
            self.memory.remove(head);
        }
    }

    /// Ends all values and tags, because they have changed in the second tier, or may have.
    pub fn forget_all(&self) {
        if self.clear().is_err() {
            self.end_all();
        }
    }

    /// Returns the names and versions of these tags, if all of them are still current.
    pub fn versions(&self, validators: &[Validator]) -> Option<Vec<(Vec<u8>, i64)>> {
        let _held = self.held().ok()?;
        let tags = validators.iter().map(|validator| {
            let head = self.memory.head(self.memory.valid(validator.cell));
            let is_there = head.cell != 0
                && head.sequence() == validator.sequence
                && head.space() == Some(Space::Tag)
                && head.is_alive(self.now());
            is_there.then(|| (self.memory.key(head), head.int().cast_signed()))
        });
        tags.collect()
    }
}
