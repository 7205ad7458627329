//! Computations and locks over several machines.
//!
//! A computation is claimed in the memory first, so that only one task of a server asks Redis for it. There it is claimed for a few
//! seconds, and again while the process that computes lives: a machine that dies gives way after those seconds, a process at the next
//! look. A lock is in Redis alone, and while that is away there are none: two machines could have the same.

use std::collections::HashMap;
use std::sync::Arc;

use cache::{Claim, Owner, Refused, Space};
use cache_link::{Answer, Wanted};

use crate::answers::{self, Sent, held_elsewhere, refused, sent, yes};
use crate::call::Call;
use crate::entry::{milliseconds, number};
use crate::state::{Link, State, Tier};

/// For how long a computation is claimed at a time, in milliseconds.
const CLAIMED: u64 = 5000;
/// Tokens are nanoseconds, as those of the memory; Redis has microseconds.
const SCALE: u64 = 1000;

/// A computation that is this server's in Redis.
#[derive(Debug, Clone)]
pub(crate) struct RemoteClaim {
    /// The memory's token.
    local: u64,
    pub(crate) token: String,
    /// The version that the whole cache had when it began.
    pub(crate) epoch: i64,
}

#[derive(Debug, Default)]
pub(crate) struct RemoteClaims(HashMap<Vec<u8>, RemoteClaim>);

impl RemoteClaims {
    pub(crate) fn remove(&mut self, key: &[u8]) {
        self.0.remove(key);
    }

    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    fn of(&self, key: &[u8], local: u64) -> Option<RemoteClaim> {
        self.0
            .get(key)
            .filter(|claim| claim.local == local)
            .cloned()
    }
}

impl Tier {
    /// The computation that a write is the end of, in Redis; an answer if it is not the caller's any more.
    pub(crate) fn claim_of(&self, wanted: &Wanted<'_>) -> Result<Option<RemoteClaim>, Sent> {
        let Some(token) = wanted.claim() else {
            return Ok(None);
        };
        let state = self.state();
        let claim = state.claims.of(wanted.key, token);
        let is_away = matches!(state.link, Link::Away);
        if self.has_claim(wanted.key, token) && (claim.is_some() || is_away) {
            return Ok(claim);
        }
        Err(sent(&Answer::No))
    }

    pub(crate) async fn claim(&self, key: &[u8], owner: (u32, u32, u64), ttl: u64) -> Sent {
        let (process, task, started) = owner;
        let owner = Owner {
            process,
            task,
            started,
        };
        let local = match self.cache.claim(Space::Computation, key, owner, ttl) {
            Ok(Claim::Taken(token)) => token,
            held => return answers::claim(held),
        };
        let token = self.random().to_string();
        let mut claim = Call::script(&self.scripts.claim, &[self.key("c:", key)]);
        claim.arg(self.key("t:", b"")).arg(&token).arg(CLAIMED);
        let give_back = || self.cache.give_back(Space::Computation, key, local).is_ok();
        self.through(
            [],
            &self.making(&[], claim),
            |_| sent(&Answer::Number(local)),
            |state, _, epoch: Option<Vec<u8>>| match epoch.and_then(|epoch| number(&epoch)) {
                Some(epoch) => {
                    let claim = RemoteClaim {
                        local,
                        token: token.clone(),
                        epoch,
                    };
                    state.claims.0.insert(key.to_vec(), claim);
                    sent(&Answer::Number(local))
                }
                None => {
                    give_back();
                    held_elsewhere()
                }
            },
            |_, why| {
                give_back();
                refused(why)
            },
        )
        .await
    }

    /// In Redis it is given back beside: no caller waits for that.
    pub(crate) fn give_back(self: &Arc<Tier>, key: &[u8], token: u64) -> Sent {
        let claim = {
            let mut state = self.state();
            let claim = state.claims.of(key, token);
            claim.inspect(|_| state.claims.remove(key))
        };
        if let Some(claim) = claim {
            let (tier, key) = (Arc::clone(self), key.to_vec());
            tokio::spawn(async move { tier.keep_claim(&key, &claim, 0).await });
        }
        answers::said(self.cache.give_back(Space::Computation, key, token))
    }

    /// Sets its time limit to `time` milliseconds from now; 0 gives it back. False: another server has it now.
    async fn keep_claim(&self, key: &[u8], claim: &RemoteClaim, time: u64) -> bool {
        let mut keep = Call::script(&self.scripts.keep, &[self.key("c:", key)]);
        keep.arg(&claim.token).arg(time);
        self.through(
            [],
            &Call::One(keep),
            |_| true,
            |_, _, is_kept: i64| is_kept == 1,
            |_, _| true,
        )
        .await
    }

    pub(crate) async fn lock(&self, name: &[u8], owner: (u32, u32, u64), ttl: u64) -> Sent {
        let keys = [self.key("l:", name), self.key("fence", b"")];
        let mut lock = Call::script(&self.scripts.lock, &keys);
        lock.arg(self.name_of(owner)).arg(milliseconds(ttl));
        self.through(
            [],
            &Call::One(lock),
            |_| refused(Refused::Away),
            |_, _, token: Option<Vec<u8>>| match token {
                Some(token) => sent(&Answer::Number(token_of(&token))),
                None => held_elsewhere(),
            },
            |_, why| refused(why),
        )
        .await
    }

    /// The owner of a lock as all machines know it: a name is the same on each, a task is one machine's.
    fn name_of(&self, (process, task, started): (u32, u32, u64)) -> String {
        let machine = if started == u64::MAX { 0 } else { self.id };
        format!("{machine}-{process}-{task}-{started}")
    }

    /// Extends a lock by `ttl`, gives it back for 0, only looks for `None`.
    pub(crate) async fn hold(&self, name: &[u8], token: u64, ttl: Option<u64>) -> Sent {
        let mut hold = Call::script(&self.scripts.hold, &[self.key("l:", name)]);
        let time = ttl.map_or(-1, |ttl| milliseconds(ttl).cast_signed());
        hold.arg(token / SCALE).arg(time);
        self.through(
            [],
            &Call::One(hold),
            |_| refused(Refused::Away),
            |_, _, is_held: i64| yes(is_held == 1),
            |_, why| refused(why),
        )
        .await
    }

    pub(crate) async fn holder(&self, name: &[u8], owner: Option<(u32, u32, u64)>) -> Sent {
        let mut holder = Call::script(&self.scripts.holder, &[self.key("l:", name)]);
        let owner = owner.map(|owner| self.name_of(owner));
        holder.arg(owner.unwrap_or_default());
        self.through(
            [],
            &Call::One(holder),
            |_| refused(Refused::Away),
            |_, _, token: Option<Vec<u8>>| match token {
                Some(token) => sent(&Answer::Number(token_of(&token))),
                None => sent(&Answer::No),
            },
            |_, why| refused(why),
        )
        .await
    }
}

fn token_of(text: &[u8]) -> u64 {
    let microseconds = number(text).and_then(|token| u64::try_from(token).ok());
    microseconds.unwrap_or_default().saturating_mul(SCALE)
}

/// What is still computed stays claimed; what is not, because its process died, is given back.
pub(crate) async fn renew(tier: &Tier) {
    let claims: Vec<_> = {
        let state: &State = &tier.state();
        let claims = state.claims.0.iter();
        claims
            .map(|(key, claim)| (key.clone(), claim.clone()))
            .collect()
    };
    for (key, claim) in claims {
        let is_live = tier
            .cache
            .is_live_claim(Space::Computation, &key, claim.local);
        let is_live = is_live == Ok(true);
        let time = if is_live { CLAIMED } else { 0 };
        let is_kept = tier.keep_claim(&key, &claim, time).await;
        if !(is_live && is_kept) {
            let mut state = tier.state();
            if state.claims.of(&key, claim.local).is_some() {
                state.claims.remove(&key);
            }
        }
    }
}
