//! Encodes answers.

use cache::{Cache, Claim, Found, Refused, Stored, Validator};
use cache_link::{Answer, encode};

use crate::entry::Entry;

/// An encoded answer with its length.
pub(crate) type EncodedAnswer = Vec<u8>;

pub(crate) fn sent(answer: &Answer<'_>) -> EncodedAnswer {
    encode(answer).unwrap_or_default()
}

pub(crate) fn flag(is_it: bool) -> Answer<'static> {
    if is_it { Answer::Yes } else { Answer::No }
}

pub(crate) fn yes(is_it: bool) -> EncodedAnswer {
    sent(&flag(is_it))
}

pub(crate) fn denied() -> EncodedAnswer {
    refused(Refused::Denied)
}

pub(crate) fn refused(why: Refused) -> EncodedAnswer {
    sent(&Answer::refused(why))
}

fn or_refused(answer: Result<EncodedAnswer, Refused>) -> EncodedAnswer {
    answer.unwrap_or_else(refused)
}

pub(crate) fn from_bool(result: Result<bool, Refused>) -> EncodedAnswer {
    or_refused(result.map(yes))
}

pub(crate) fn stored(result: Result<Stored, Refused>) -> Answer<'static> {
    match result {
        Ok(Stored::Yes) => Answer::Yes,
        Ok(Stored::No) => Answer::No,
        Err(why) => Answer::refused(why),
    }
}

pub(crate) fn validators(result: Result<Vec<Validator>, Refused>) -> EncodedAnswer {
    or_refused(result.map(|validators| {
        let validators = validators
            .iter()
            .map(|validator| (validator.sequence, validator.cell));
        sent(&Answer::Validators(validators.collect()))
    }))
}

pub(crate) fn sum(result: Result<i64, Refused>) -> EncodedAnswer {
    or_refused(result.map(|sum| sent(&Answer::Sum(sum))))
}

pub(crate) fn claim(result: Result<Claim, Refused>) -> EncodedAnswer {
    or_refused(result.map(|claim| match claim {
        Claim::Taken(token) => sent(&Answer::Number(token)),
        Claim::Held(by) => sent(&Answer::Held((by.process, by.task, by.started))),
    }))
}

/// Returns the answer for a computation or a lock that another machine has.
pub(crate) fn held_elsewhere() -> EncodedAnswer {
    sent(&Answer::Held((0, 0, 0)))
}

/// Returns an answer with the value itself, because it is not in the memory.
pub(crate) fn value<'e>(cache: &Cache, entry: &'e Entry) -> Answer<'e> {
    let after = |time: u64| match time {
        0 => 0,
        time => cache.now().saturating_add(time),
    };
    Answer::Value {
        encoding: entry.encoding as u8,
        int: entry.int,
        bytes: &entry.bytes,
        expires: after(entry.ttl),
        stale: after(entry.fresh),
    }
}

pub(crate) fn found(found: &Found, bytes: &[u8]) -> EncodedAnswer {
    sent(&Answer::Value {
        encoding: found.encoding as u8,
        int: found.int,
        bytes,
        expires: found.expires,
        stale: found.stale,
    })
}
