//! Operations on several keys: one round trip for all.

use std::collections::BTreeSet;

use cache::Refused;
use cache_link::{Answer, Wanted};

use crate::answers::{self, Sent, refused, sent};
use crate::call::Call;
use crate::entry::Reply;
use crate::operations::of_value;
use crate::state::{State, Tier};
use crate::status::add;

impl Tier {
    pub(crate) async fn read_many(&self, keys: &[&[u8]]) -> Sent {
        add(&self.counters.reads, keys.len());
        let entries: Vec<_> = keys.iter().map(|key| self.key("v:", key)).collect();
        let mut get = Call::script(&self.scripts.get_many, &entries);
        get.arg(self.key("t:", b""));
        // The memory was asked before.
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

    /// The tags are made once, then each value is written as one is.
    pub(crate) async fn write_many(&self, all: &[Wanted<'_>]) -> Sent {
        add(&self.counters.writes, all.len());
        if all.iter().any(Wanted::is_computed) {
            return each(all.iter().map(|_| Answer::refused(Refused::Denied)));
        }
        let tags: Vec<Vec<Vec<u8>>> = all.iter().map(names).collect();
        let commands = all.iter().zip(&tags).map(|(wanted, names)| {
            let versions = vec![String::new(); names.len()];
            let set = self.set(wanted, None, names, &versions);
            (set, self.key("v:", wanted.key))
        });
        let distinct: BTreeSet<&Vec<u8>> = tags.iter().flatten().collect();
        let call = Call::batch(&self.made(distinct), self.random(), commands.collect());
        self.through(
            all.iter().map(|wanted| of_value(wanted.key)),
            &call,
            |state: &mut State| each(all.iter().map(|wanted| self.write_here(state, wanted))),
            |state, ticket, replies: Vec<Option<Vec<Vec<u8>>>>| {
                let done = all.iter().zip(&tags).zip(replies);
                each(done.map(|((wanted, names), versions)| match versions {
                    None => Answer::No,
                    Some(versions) => {
                        self.written(state, ticket, wanted, names, &versions);
                        Answer::Yes
                    }
                }))
            },
            |_, why| {
                all.iter().for_each(|wanted| self.cache.forget(wanted.key));
                each(all.iter().map(|_| Answer::refused(why)))
            },
        )
        .await
    }

    pub(crate) async fn delete_many(&self, keys: &[&[u8]]) -> Sent {
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
                keys.iter().for_each(|key| state.marks.written(key));
                self.delete_here(keys)
            },
            |state, _, deleted: i64| {
                keys.iter().for_each(|key| state.claims.remove(key));
                if self.cache.delete_many(keys).is_err() {
                    keys.iter().for_each(|key| self.cache.forget(key));
                }
                sent(&Answer::Sum(deleted))
            },
            |_, why| refused(why),
        )
        .await
    }

    fn delete_here(&self, keys: &[&[u8]]) -> Sent {
        let deleted = self.cache.delete_many(keys);
        answers::sum(deleted.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

fn names(wanted: &Wanted<'_>) -> Vec<Vec<u8>> {
    wanted.tags.iter().map(|tag| tag.to_vec()).collect()
}

fn each<'a>(answers: impl Iterator<Item = Answer<'a>>) -> Sent {
    sent(&Answer::Many(answers.collect()))
}
