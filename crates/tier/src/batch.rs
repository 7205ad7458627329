//! Operations on several keys, in one round trip for all.

use std::collections::BTreeSet;

use cache::Refused;
use cache_link::{Answer, WriteMessage};

use crate::answers::{self, EncodedAnswer, refused, sent};
use crate::call::Call;
use crate::entry::Reply;
use crate::operations::{of_tag, of_value};
use crate::state::{State, Tier};
use crate::status::add;

impl Tier {
    pub(crate) async fn read_many(&self, keys: &[&[u8]]) -> EncodedAnswer {
        add(&self.counters.reads, keys.len());
        let entries: Vec<_> = keys.iter().map(|key| self.key("v:", key)).collect();
        let mut get = Call::script(&self.scripts.get_many, &entries);
        get.arg(self.key("t:", b""));
        // The process has already looked in the memory.
        let none = || each(keys.iter().map(|_| Answer::No));
        self.through(
            [],
            &Call::One(get),
            |_| none(),
            |state, ticket, replies: Vec<Reply>| {
                let found: Vec<_> = keys
                    .iter()
                    .zip(replies)
                    .map(|(key, reply)| self.found(state, ticket, key, reply))
                    .collect();
                each(found.iter().map(|found| match found {
                    Some((_, true)) => Answer::Here,
                    Some((entry, false)) => answers::value(self.cache, entry),
                    None => Answer::No,
                }))
            },
            |_, _| none(),
        )
        .await
    }

    /// Makes the versions of all tags once, then writes each value as a single write does.
    pub(crate) async fn write_many(&self, all: &[WriteMessage<'_>]) -> EncodedAnswer {
        add(&self.counters.writes, all.len());
        if all.iter().any(WriteMessage::is_computed) {
            return each(all.iter().map(|_| Answer::refused(Refused::Denied)));
        }
        let tags: Vec<Vec<Vec<u8>>> = all.iter().map(names).collect();
        let commands = all.iter().zip(&tags).map(|(message, names)| {
            let versions = vec![String::new(); names.len()];
            let set = self.set(message, None, names, &versions);
            (set, self.key("v:", message.key))
        });
        let distinct: BTreeSet<&Vec<u8>> = tags.iter().flatten().collect();
        let call = Call::batch(&self.made(distinct), self.random(), commands.collect());
        self.through(
            all.iter().map(|message| of_value(message.key)),
            &call,
            |state: &mut State| each(all.iter().map(|message| self.write_here(state, message))),
            |state, ticket, replies: Vec<Option<Vec<Vec<u8>>>>| {
                let done = all.iter().zip(&tags).zip(replies);
                each(done.map(|((message, names), versions)| match versions {
                    None => {
                        // The value is not the one that the caller has read, perhaps from the memory.
                        self.cache.forget(message.key);
                        Answer::No
                    }
                    Some(versions) => {
                        self.written(state, ticket, message, names, &versions);
                        Answer::Yes
                    }
                }))
            },
            |_, why| {
                all.iter()
                    .for_each(|message| self.cache.forget(message.key));
                each(all.iter().map(|_| Answer::refused(why)))
            },
        )
        .await
    }

    pub(crate) async fn delete_many(&self, keys: &[&[u8]]) -> EncodedAnswer {
        add(&self.counters.writes, keys.len());
        let places: Vec<_> = keys
            .iter()
            .flat_map(|key| [self.key("v:", key), self.key("c:", key)])
            .collect();
        let mut delete = Call::script(&self.scripts.delete_many, &places);
        delete.arg(self.key("t:", b""));
        self.through(
            keys.iter().map(|key| of_value(key)),
            &Call::One(delete),
            |state| {
                keys.iter()
                    .for_each(|key| state.pending_deletes.written(key));
                let deleted = self.cache.delete_many(keys);
                deleted.map_or_else(refused, flags)
            },
            |state, _, deleted: Vec<bool>| {
                keys.iter().for_each(|key| state.claims.remove(key));
                if self.cache.delete_many(keys).is_err() {
                    keys.iter().for_each(|key| self.cache.forget(key));
                }
                flags(deleted)
            },
            |_, why| refused(why),
        )
        .await
    }

    pub(crate) async fn delete_tags(&self, tags: &[&[u8]]) -> EncodedAnswer {
        add(&self.counters.writes, tags.len());
        let mut unlink = redis::cmd("UNLINK");
        for tag in tags {
            unlink.arg(self.key("t:", tag));
        }
        self.through(
            tags.iter().map(|tag| of_tag(tag)),
            &Call::One(unlink),
            |state| {
                tags.iter().for_each(|tag| state.pending_deletes.tag(tag));
                answers::sum(self.cache.delete_tags(tags).map(count))
            },
            |_, _, deleted: i64| {
                if self.cache.delete_tags(tags).is_err() {
                    tags.iter().for_each(|tag| self.cache.forget_tag(tag));
                }
                sent(&Answer::Sum(deleted))
            },
            |_, why| refused(why),
        )
        .await
    }
}

fn names(message: &WriteMessage<'_>) -> Vec<Vec<u8>> {
    message.tags.iter().map(|tag| tag.to_vec()).collect()
}

fn count(tags: usize) -> i64 {
    i64::try_from(tags).unwrap_or(i64::MAX)
}

fn flags(of_each: Vec<bool>) -> EncodedAnswer {
    each(of_each.into_iter().map(answers::flag))
}

fn each<'a>(answers: impl Iterator<Item = Answer<'a>>) -> EncodedAnswer {
    sent(&Answer::Many(answers.collect()))
}
