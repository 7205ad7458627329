//! The operations on values: the call to Redis, the change of the memory by its answer, and the change while Redis is away.

use std::sync::Arc;
use std::time::Duration;

use cache::{Space, Stored, Validator, Write};
use cache_link::{Answer, Question};
use redis::Cmd;
use serde_bytes::Bytes;

use crate::answers::{self, EncodedAnswer, from_bool, refused, sent, yes};
use crate::call::Call;
use crate::entry::{Entry, Reply, number};
use crate::order::Ticket;
use crate::scripts::NO_KEY;
use crate::state::{State, Tier};
use crate::status::count;

/// Returns the form of a key that [`Order`](crate::order::Order) uses.
pub(crate) fn of_value(key: &[u8]) -> Vec<u8> {
    [b"v:", key].concat()
}

pub(crate) fn of_tag(tag: &[u8]) -> Vec<u8> {
    [b"t:", tag].concat()
}

fn plain<'a>(names: &[&'a Bytes]) -> Vec<&'a [u8]> {
    names.iter().map(|name| &***name).collect()
}

impl Tier {
    pub(crate) async fn answer(self: &Arc<Tier>, question: Question<'_>) -> EncodedAnswer {
        match question {
            Question::Read { key, bytes } => self.read(key, bytes).await,
            Question::ReadMany(keys) => self.read_many(&plain(&keys)).await,
            Question::Write(message) => self.write(&message).await,
            Question::WriteMany(message) => self.write_many(&message).await,
            Question::Increment(message) => self.increment(&message).await,
            Question::Delete(key) => self.delete(key).await,
            Question::DeleteMany(keys) => self.delete_many(&plain(&keys)).await,
            Question::DeleteTags(tags) => self.delete_tags(&plain(&tags)).await,
            Question::Clear => self.clear().await,
            Question::Tags(names) => self.tags(&plain(&names)).await,
            Question::Claim {
                lock: true,
                name,
                owner,
                ttl,
            } => self.lock(name, owner, ttl).await,
            Question::Claim {
                name, owner, ttl, ..
            } => self.claim(name, owner, ttl).await,
            Question::GiveBack {
                lock: true,
                name,
                token,
            } => self.hold(name, token, Some(0)).await,
            Question::GiveBack { name, token, .. } => self.give_back(name, token),
            Question::Extend { name, token, ttl } => self.hold(name, token, Some(ttl)).await,
            Question::Holds { name, token } => self.hold(name, token, None).await,
            Question::Token { name, owner } => self.holder(name, owner).await,
            Question::Await { key, most } => self.wait_for(key, most).await,
        }
    }

    async fn read(&self, key: &[u8], bytes: bool) -> EncodedAnswer {
        count(&self.counters.reads);
        let mut get = Call::script(&self.scripts.get, &[self.key("v:", key)]);
        get.arg(self.key("t:", b""));
        self.through(
            [],
            &Call::One(get),
            |_| self.read_here(key),
            |state, ticket, reply: Reply| match self.found(state, ticket, key, reply) {
                Some((_, true)) if !bytes => sent(&Answer::Here),
                Some((entry, _)) => sent(&answers::value(self.cache, &entry)),
                None => sent(&Answer::No),
            },
            |_, _| sent(&Answer::No),
        )
        .await
    }

    /// Returns the entry that Redis has for the key, and whether the memory has it now too. Without an entry, the memory
    /// notes that.
    pub(crate) fn found(
        &self,
        state: &mut State,
        ticket: &Ticket,
        key: &[u8],
        reply: Reply,
    ) -> Option<(Entry, bool)> {
        let is_none = reply.0 == NO_KEY;
        let Some(entry) = Entry::of(reply) else {
            let is_still = state.order.is_still(ticket, &of_value(key));
            state.order.moves(&of_value(key));
            if is_none && is_still {
                // If there is no room for the note, the next read asks again.
                let _ = self.cache.note_absent(key);
            }
            return None;
        };
        count(&self.counters.hits);
        let is_here = self.keep(state, ticket, key, &entry);
        Some((entry, is_here))
    }

    fn read_here(&self, key: &[u8]) -> EncodedAnswer {
        let mut bytes = Vec::new();
        match self.cache.read(key, &mut bytes) {
            Ok(Some(found)) => answers::found(&found, &bytes),
            Ok(None) => sent(&Answer::No),
            Err(why) => refused(why),
        }
    }

    /// Puts an entry that was read into the memory, if it is still true and there is room. In any case the caller sees the
    /// entry; so no other answer under way is kept, because that may be older.
    pub(crate) fn keep(
        &self,
        state: &mut State,
        ticket: &Ticket,
        key: &[u8],
        entry: &Entry,
    ) -> bool {
        let names = entry.tags.iter().map(|(name, _)| of_tag(name));
        let mut keys = names.chain([of_value(key)]);
        let is_still = keys.all(|key| state.order.is_still(ticket, &key));
        state.order.moves(&of_value(key));
        if !is_still {
            return false;
        }
        let tags: Vec<&[u8]> = entry.named_tags().map(|(name, _)| &name[..]).collect();
        let versions: Vec<i64> = entry.named_tags().map(|(_, version)| *version).collect();
        let write = Write {
            encoding: entry.encoding,
            int: entry.int,
            ttl: entry.ttl,
            fresh: entry.fresh,
            tags: &tags,
            ..Write::plain(key, &entry.bytes)
        };
        self.cache.write_versions(&write, &versions) == Ok(Stored::Yes)
    }

    pub(crate) async fn delete(&self, key: &[u8]) -> EncodedAnswer {
        count(&self.counters.writes);
        let keys = [self.key("v:", key), self.key("c:", key)];
        let mut delete = Call::script(&self.scripts.delete, &keys);
        delete.arg(self.key("t:", b""));
        self.through(
            [of_value(key)],
            &Call::One(delete),
            |state| {
                state.pending_deletes.written(key);
                from_bool(self.cache.delete(key))
            },
            |state, _, was_there: Option<i64>| {
                state.claims.remove(key);
                if self.cache.delete(key).is_err() {
                    self.cache.forget(key);
                }
                yes(was_there.is_some())
            },
            |_, why| refused(why),
        )
        .await
    }

    async fn clear(&self) -> EncodedAnswer {
        count(&self.counters.writes);
        let mut unlink = redis::cmd("UNLINK");
        unlink.arg(self.key("t:", b""));
        self.through(
            [of_tag(b"")],
            &Call::One(unlink),
            |state| {
                state.pending_deletes.clear();
                from_bool(self.cache.clear().map(|()| true))
            },
            |state, _, _: i64| {
                state.claims.end_values();
                self.cache.forget_all();
                sent(&Answer::Yes)
            },
            |_, why| refused(why),
        )
        .await
    }

    /// Returns the tags as they are now. Their earlier versions are of no use to a value that is computed from now on.
    async fn tags(&self, names: &[&[u8]]) -> EncodedAnswer {
        let mut get = redis::cmd("MGET");
        for name in names {
            get.arg(self.key("t:", name));
        }
        let owned: Vec<Vec<u8>> = names.iter().map(|name| name.to_vec()).collect();
        self.through(
            [],
            &self.making(&owned, get),
            |_| answers::validators(self.cache.tags(names)),
            |state, ticket, versions: Vec<Vec<u8>>| {
                let versions: Option<Vec<i64>> = versions.iter().map(|one| number(one)).collect();
                let is_still = names
                    .iter()
                    .all(|name| state.order.is_still(ticket, &of_tag(name)));
                match versions.filter(|versions| versions.len() == names.len()) {
                    Some(versions) if is_still => {
                        answers::validators(self.cache.tags_of(names, &versions))
                    }
                    // Validators of no tag, with which the computed value is not kept.
                    _ => answers::validators(Ok(vec![Validator::default(); names.len()])),
                }
            },
            |_, why| refused(why),
        )
        .await
    }

    async fn wait_for(&self, key: &[u8], most: u64) -> EncodedAnswer {
        let waiting = {
            let mut state = self.state();
            Arc::clone(state.awaited.entry(key.to_vec()).or_default())
        };
        let _ = tokio::time::timeout(Duration::from_micros(most), waiting.notified()).await;
        drop(waiting);
        let mut state = self.state();
        if state
            .awaited
            .get(key)
            .is_some_and(|one| Arc::strong_count(one) == 1)
        {
            state.awaited.remove(key);
        }
        sent(&Answer::Yes)
    }

    /// Makes a call that first creates the missing versions of these tags and of the whole cache.
    pub(crate) fn making(&self, tags: &[Vec<u8>], command: Cmd) -> Call {
        Call::making(&self.made(tags), self.random(), command)
    }

    /// Returns the keys of these tags and of the whole cache.
    pub(crate) fn made<'t>(&self, tags: impl IntoIterator<Item = &'t Vec<u8>>) -> Vec<Vec<u8>> {
        let whole = self.key("t:", b"");
        let tags = tags.into_iter().map(|tag| self.key("t:", tag));
        std::iter::once(whole).chain(tags).collect()
    }

    /// Returns whether, in this server, the caller still has the claim of the computation.
    pub(crate) fn has_claim(&self, key: &[u8], token: u64) -> bool {
        self.cache.holds_claim(Space::Computation, key, token) == Ok(true)
    }
}
