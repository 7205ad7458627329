//! Claims: locks and the right to compute a value. One owner has a claim, up to a time, with a token that only grows.

use crate::cache::Cache;
use crate::entry::{Space, cells_for};
use crate::operation::{Refused, Write};
use crate::owner::Owner;
use crate::recovery::is_key;

/// The result of an attempt to take a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The caller has the claim. No earlier holder's token was as high as this one.
    Taken(u64),
    Held(Owner),
}

impl Cache {
    /// Takes a claim for `ttl` microseconds. A claim whose process has ended is taken over; a lock only after its time.
    pub fn claim(
        &self,
        space: Space,
        name: &[u8],
        owner: Owner,
        ttl: u64,
    ) -> Result<Claim, Refused> {
        if !is_key(space, name) {
            return Err(Refused::Key);
        }
        let _held = self.held()?;
        if let Some(head) = self.alive(space, name) {
            let holder = Owner::of(head.int(), head.stale());
            if space == Space::Lock || !holder.has_ended() {
                return Ok(Claim::Held(holder));
            }
        }
        if !self
            .memory
            .make_room(cells_for(0, name.len(), 0), self.now())
        {
            return Err(Refused::Full);
        }
        let write = Write {
            ttl: ttl.max(1),
            ..Write::int(name, owner.number().cast_signed())
        };
        let validator = self.insert(space, &write, &[])?;
        let head = self.memory.head(self.memory.valid(validator.cell));
        head.set_stale(owner.started);
        Ok(Claim::Taken(validator.sequence))
    }

    /// Releases a claim; returns false if the holder of this token has lost it.
    pub fn give_back(&self, space: Space, name: &[u8], token: u64) -> Result<bool, Refused> {
        let _held = self.held()?;
        let held = self
            .alive(space, name)
            .filter(|head| head.sequence() == token);
        held.inspect(|head| self.memory.remove(*head));
        Ok(held.is_some())
    }

    /// Returns the token of the claim if it is held, by this owner or, with `None`, by any.
    pub fn token(
        &self,
        space: Space,
        name: &[u8],
        owner: Option<Owner>,
    ) -> Result<Option<u64>, Refused> {
        let _held = self.held()?;
        let head = self.alive(space, name);
        Ok(head
            .filter(|head| owner.is_none_or(|owner| owner == Owner::of(head.int(), head.stale())))
            .map(|head| head.sequence()))
    }

    /// Makes a claim expire `ttl` microseconds from now; returns false if the holder of this token has lost it.
    pub fn extend(&self, space: Space, name: &[u8], token: u64, ttl: u64) -> Result<bool, Refused> {
        let _held = self.held()?;
        let held = self
            .alive(space, name)
            .filter(|head| head.sequence() == token);
        held.inspect(|head| head.set_expires(self.now().saturating_add(ttl.max(1))));
        Ok(held.is_some())
    }

    /// Returns whether the holder of this token has the claim now.
    pub fn holds_claim(&self, space: Space, name: &[u8], token: u64) -> Result<bool, Refused> {
        let _held = self.held()?;
        let head = self.memory.find(space, self.memory.hash(space, name), name);
        Ok(head.is_some_and(|head| head.sequence() == token && head.is_alive(self.now())))
    }

    /// Returns whether the holder of this token has the claim now, and its process has not ended.
    pub fn is_live_claim(&self, space: Space, name: &[u8], token: u64) -> Result<bool, Refused> {
        let _held = self.held()?;
        let head = self
            .alive(space, name)
            .filter(|head| head.sequence() == token);
        Ok(head.is_some_and(|head| !Owner::of(head.int(), head.stale()).has_ended()))
    }
}
