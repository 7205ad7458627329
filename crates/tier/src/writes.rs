//! Writing: the call to Redis, and the entry that the memory keeps.

use cache::{Condition, Encoding, Refused, Stored, Validator, Write};
use cache_link::{Answer, WriteMessage};
use redis::Cmd;

use crate::answers::{self, EncodedAnswer, denied, refused, sent};
use crate::call::Call;
use crate::claims::RemoteClaim;
use crate::entry::{Entry, Reply, before_end, condition, milliseconds, number, value};
use crate::operations::{of_tag, of_value};
use crate::order::Ticket;
use crate::scripts::{NO_NUMBER, TOO_LARGE};
use crate::state::{State, Tier};
use crate::status::count;

impl Tier {
    pub(crate) async fn write(&self, message: &WriteMessage<'_>) -> EncodedAnswer {
        count(&self.counters.writes);
        let key = message.key;
        let claim = match self.claim_of(message) {
            Ok(claim) => claim,
            Err(answer) => return answer,
        };
        let (claim, names, versions) = match (self.tags_of(message), claim) {
            (Some((names, versions)), claim) => (claim, names, versions),
            // A tag was deleted since the computation began, so the value was made of older data. What was written since stays.
            (None, Some(claim)) => (Some(claim.of_old_data()), vec![], vec![]),
            (None, None) => return self.delete(key).await,
        };
        let set = self.set(message, claim.as_ref(), &names, &versions);
        let call = self.making(&names, set).signed(&self.key("v:", key));
        self.through(
            [of_value(key)],
            &call,
            |state| sent(&self.write_here(state, message)),
            |state, ticket, versions: Option<Vec<Vec<u8>>>| match versions {
                None => {
                    // The value is not the one that the caller has read, perhaps from the memory.
                    self.cache.forget(key);
                    sent(&Answer::No)
                }
                Some(versions) => {
                    self.written(state, ticket, message, &names, &versions);
                    sent(&Answer::Yes)
                }
            },
            |_, why| {
                self.cache.forget(key);
                refused(why)
            },
        )
        .await
    }

    /// Returns the command for a write.
    pub(crate) fn set(
        &self,
        message: &WriteMessage<'_>,
        claim: Option<&RemoteClaim>,
        names: &[Vec<u8>],
        versions: &[String],
    ) -> Cmd {
        let keys = [self.key("v:", message.key), self.key("c:", message.key)];
        let mut set = Call::script(&self.scripts.write, &keys);
        message.with(|write| {
            let token = claim.map(|claim| claim.token.as_str());
            let (name, first, second) = condition(&write.condition, token);
            set.arg(self.key("t:", b""))
                .arg(name)
                .arg(first)
                .arg(second);
            set.arg(milliseconds(write.ttl)).arg(write.encoding as u8);
            set.arg(before_end(write));
            set.arg(value(write.encoding, write.int, write.bytes));
        });
        let epoch = claim.map(|claim| claim.epoch.to_string());
        set.arg("").arg(epoch.unwrap_or_default());
        for (name, version) in names.iter().zip(versions) {
            set.arg(name).arg(version);
        }
        set
    }

    /// Returns names and versions of the tags for the entry; the versions are fixed for a computation. `None` if one of its
    /// tags is gone.
    pub(crate) fn tags_of(
        &self,
        message: &WriteMessage<'_>,
    ) -> Option<(Vec<Vec<u8>>, Vec<String>)> {
        if message.validators.is_empty() {
            let names: Vec<_> = message.tags.iter().map(|tag| tag.to_vec()).collect();
            let any = vec![String::new(); names.len()];
            return Some((names, any));
        }
        let validators: Vec<Validator> = message
            .validators
            .iter()
            .map(|&(sequence, cell)| Validator { sequence, cell })
            .collect();
        let tags = self.cache.versions(&validators)?;
        Some(
            tags.into_iter()
                .map(|(name, version)| (name, version.to_string()))
                .unzip(),
        )
    }

    /// Puts an entry that Redis has written into the memory, or removes the key there.
    pub(crate) fn written(
        &self,
        state: &State,
        ticket: &Ticket,
        message: &WriteMessage<'_>,
        names: &[Vec<u8>],
        versions: &[Vec<u8>],
    ) {
        let versions: Option<Vec<i64>> = versions.iter().map(|version| number(version)).collect();
        let versions = versions.filter(|versions| versions.len() == names.len() + 1);
        let mut keys = names
            .iter()
            .map(|name| of_tag(name))
            .chain([of_tag(b""), of_value(message.key)]);
        let is_still = keys.all(|key| state.order.is_still(ticket, &key));
        let Some(versions) = versions.filter(|_| is_still) else {
            return self.cache.forget(message.key);
        };
        let tags: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let stored = message.with(|write| {
            let condition = match write.condition {
                Condition::Claimed(token) => Condition::Claimed(token),
                _ => Condition::Always,
            };
            let write = Write {
                tags: &tags,
                validators: &[],
                condition,
                ..*write
            };
            // The first version is that of the whole cache.
            self.cache.write_versions(&write, &versions[1..])
        });
        if stored != Ok(Stored::Yes) {
            self.cache.forget(message.key);
        }
    }

    pub(crate) fn write_here(
        &self,
        state: &mut State,
        message: &WriteMessage<'_>,
    ) -> Answer<'static> {
        let stored = message.with(|write| self.cache.write(write));
        if stored != Ok(Stored::No) {
            state.pending_deletes.written(message.key);
        }
        answers::stored(stored)
    }

    pub(crate) async fn increment(&self, message: &WriteMessage<'_>) -> EncodedAnswer {
        count(&self.counters.writes);
        let key = message.key;
        let entry = self.key("v:", key);
        let keys = [entry.clone(), self.key("c:", key)];
        let mut add = Call::script(&self.scripts.add, &keys);
        add.arg(self.key("t:", b"")).arg(message.int);
        add.arg(milliseconds(message.ttl)).arg("");
        let names: Vec<Vec<u8>> = message.tags.iter().map(|tag| tag.to_vec()).collect();
        add.arg(&names);
        let call = self.making(&names, add).signed(&entry);
        self.through(
            [of_value(key)],
            &call,
            |state| self.increment_here(state, message),
            |state, ticket, reply: Reply| match reply.0 {
                NO_NUMBER => refused(Refused::NotInt),
                TOO_LARGE => refused(Refused::Overflow),
                _ => match Entry::of(reply).filter(|entry| entry.encoding == Encoding::Int) {
                    Some(entry) => {
                        if !self.keep(state, ticket, key, &entry) {
                            self.cache.forget(key);
                        }
                        sent(&Answer::Sum(entry.int))
                    }
                    None => denied(),
                },
            },
            |_, why| {
                self.cache.forget(key);
                refused(why)
            },
        )
        .await
    }

    fn increment_here(&self, state: &mut State, message: &WriteMessage<'_>) -> EncodedAnswer {
        let sum = message.with(|write| self.cache.increment(write.int, write));
        if sum.is_ok() && message.tags.is_empty() {
            state
                .pending_deletes
                .added(message.key, message.int, message.ttl);
        } else if sum.is_ok() {
            state.pending_deletes.written(message.key);
        }
        answers::sum(sum)
    }
}
