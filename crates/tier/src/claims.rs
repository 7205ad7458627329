//! Computations and locks over several machines.
//!
//! A computation is claimed in the memory first, so that only one task of a server asks Redis for it. In Redis it is claimed
//! for a few seconds, and again while the process that computes lives. So the claim of a machine that dies ends after those
//! seconds, and that of a process at the next renewal. A lock is in Redis alone. While Redis is away there are no locks,
//! because two machines could have the same one.

use std::collections::HashMap;
use std::sync::Arc;

use cache::{Claim, Owner, Refused, Space};
use cache_link::{Answer, WriteMessage};
use redis::Cmd;

use crate::answers::{self, EncodedAnswer, held_elsewhere, refused, sent, yes};
use crate::call::Call;
use crate::entry::{milliseconds, number};
use crate::state::{Link, State, Tier};

/// Milliseconds for which a computation is claimed at a time.
const CLAIMED: u64 = 5000;
/// The factor between tokens: nanoseconds in the memory, microseconds in Redis.
const SCALE: u64 = 1000;

/// A computation that this server has claimed in Redis.
#[derive(Debug, Clone)]
pub(crate) struct RemoteClaim {
    /// The token in the memory.
    local: u64,
    pub(crate) token: String,
    /// The version of the whole cache when the computation began; 0 if all values have ended since.
    pub(crate) epoch: i64,
}

impl RemoteClaim {
    /// Returns the claim of a computation whose data has changed: a write with it removes the entry.
    pub(crate) fn of_old_data(self) -> RemoteClaim {
        // No version is 0.
        RemoteClaim { epoch: 0, ..self }
    }

    fn is_of_old_data(&self) -> bool {
        self.epoch == 0
    }
}

#[derive(Debug, Default)]
pub(crate) struct RemoteClaims(HashMap<Vec<u8>, RemoteClaim>);

impl RemoteClaims {
    pub(crate) fn remove(&mut self, key: &[u8]) {
        self.0.remove(key);
    }

    /// All values have ended: what is being computed is not kept. The claims are given back at the end of the computations.
    pub(crate) fn end_values(&mut self) {
        self.0.values_mut().for_each(|claim| claim.epoch = 0);
    }

    fn of(&self, key: &[u8], local: u64) -> Option<RemoteClaim> {
        self.0
            .get(key)
            .filter(|claim| claim.local == local)
            .cloned()
    }
}

impl Tier {
    /// Returns the claim in Redis of the computation that a write ends; as the error, an answer if the caller has lost the
    /// claim.
    pub(crate) fn claim_of(
        &self,
        message: &WriteMessage<'_>,
    ) -> Result<Option<RemoteClaim>, EncodedAnswer> {
        let Some(token) = message.claim() else {
            return Ok(None);
        };
        let state = self.state();
        let claim = state.claims.of(message.key, token);
        let claim = claim.filter(|claim| !claim.is_of_old_data());
        let is_away = matches!(state.link, Link::Away);
        if self.has_claim(message.key, token) && (claim.is_some() || is_away) {
            return Ok(claim);
        }
        Err(sent(&Answer::No))
    }

    pub(crate) async fn claim(
        &self,
        key: &[u8],
        owner: (u32, u32, u64),
        ttl: u64,
    ) -> EncodedAnswer {
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

    /// Releases the claim of a computation. In Redis that happens in the background, because no caller waits for it.
    pub(crate) fn give_back(self: &Arc<Tier>, key: &[u8], token: u64) -> EncodedAnswer {
        let claim = {
            let mut state = self.state();
            let claim = state.claims.of(key, token);
            claim.inspect(|_| state.claims.remove(key))
        };
        if let Some(claim) = claim {
            let (tier, key) = (Arc::clone(self), key.to_vec());
            tokio::spawn(async move { tier.keep_claim(&key, &claim, 0).await });
        }
        answers::from_bool(self.cache.give_back(Space::Computation, key, token))
    }

    /// Sets the claim's remaining time to `time` milliseconds; 0 releases it. Returns false if another server has the claim
    /// now.
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

    pub(crate) async fn lock(
        &self,
        name: &[u8],
        owner: (u32, u32, u64),
        ttl: u64,
    ) -> EncodedAnswer {
        if matches!(self.state().link, Link::Away) {
            return refused(Refused::Away);
        }
        let keys = [self.key("l:", name), self.key("fence", b"")];
        let attempt = format!("a{}", self.random());
        let mut lock = Call::script(&self.scripts.lock, &keys);
        lock.arg(self.name_of(owner)).arg(milliseconds(ttl));
        lock.arg(&attempt);
        self.through(
            [],
            &Call::One(lock),
            |state| {
                // Redis may have taken it, or may do so later.
                state.pending_deletes.lock(name, attempt.clone());
                refused(Refused::Away)
            },
            |state, _, token: Option<Vec<u8>>| match token {
                Some(token) => {
                    state.held_locks.note(name, ttl);
                    sent(&Answer::Number(token_of(&token)))
                }
                None => held_elsewhere(),
            },
            |_, why| refused(why),
        )
        .await
    }

    /// Returns the owner of a lock in the form that all machines use: a name is the same on each machine, a task belongs to
    /// one.
    fn name_of(&self, (process, task, started): (u32, u32, u64)) -> String {
        let machine = if started == u64::MAX { 0 } else { self.id };
        format!("{machine}-{process}-{task}-{started}")
    }

    /// Extends a lock by `ttl`, releases it for 0, only checks it for `None`.
    pub(crate) async fn hold(&self, name: &[u8], token: u64, ttl: Option<u64>) -> EncodedAnswer {
        let token = (token / SCALE).to_string();
        let time = ttl.map_or(-1, |ttl| milliseconds(ttl).cast_signed());
        self.through(
            [],
            &Call::One(self.held_for(name, &token, time)),
            |state| {
                if ttl == Some(0) {
                    state.pending_deletes.lock(name, token.clone());
                }
                refused(Refused::Away)
            },
            |state, _, is_held: i64| {
                if let (1, Some(ttl)) = (is_held, ttl) {
                    state.held_locks.note(name, ttl);
                }
                yes(is_held == 1)
            },
            |_, why| refused(why),
        )
        .await
    }

    /// Returns the command that sets the remaining time of a lock: see [`scripts`](crate::scripts).
    pub(crate) fn held_for(&self, name: &[u8], token: &str, time: i64) -> Cmd {
        let mut hold = Call::script(&self.scripts.hold, &[self.key("l:", name)]);
        hold.arg(token).arg(time);
        hold
    }

    pub(crate) async fn holder(
        &self,
        name: &[u8],
        owner: Option<(u32, u32, u64)>,
    ) -> EncodedAnswer {
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

/// Renews the claims of running computations; releases those whose process has died.
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
        if is_live && claim.is_of_old_data() {
            continue;
        }
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
