//! Operations on several keys: the memory's lock is taken once, and the second tier gets one question for all.

use std::ops::Range;

use cache::{Found, Known, Placed, Refused, Stored, Write};
use serde_bytes::Bytes;

use crate::client::Client;
use crate::messages::{Answer, Question, WriteMessage, encoding};
use crate::tiered::{Tiered, as_bool};

/// The most keys of one question, because Redis does nothing else while it answers.
const KEYS: usize = 512;
/// Bytes of keys and values after which a question gets no further ones.
const BYTES: usize = 1 << 20;

impl Tiered<'_> {
    /// Reads each of these keys; `None` where there is no value. `into` is emptied first, and then gets the bytes of all
    /// values.
    pub fn read_many(
        self,
        keys: &[&[u8]],
        into: &mut Vec<u8>,
    ) -> Result<Vec<Option<Placed>>, Refused> {
        into.clear();
        let known = self.memory().read_many(keys, into)?;
        let mut unknown = Vec::new();
        let mut found: Vec<_> = (0..keys.len()).map(|_| None).collect();
        for (at, known) in known.into_iter().enumerate() {
            match known {
                Known::Value(value, range) => found[at] = Some((value, range)),
                Known::Absent => {}
                Known::Unknown => unknown.push(at),
            }
        }
        if let Some(client) = self.there() {
            for places in unknown.chunks(KEYS) {
                self.read_from_tier(client, keys, places, into, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Requests the keys at these places from the second tier.
    fn read_from_tier(
        self,
        client: &Client,
        keys: &[&[u8]],
        places: &[usize],
        into: &mut Vec<u8>,
        found: &mut [Option<Placed>],
    ) -> Result<(), Refused> {
        let mut buffer = Vec::new();
        let missing = places.iter().map(|at| Bytes::new(keys[*at])).collect();
        let answers = many(client.query(&Question::ReadMany(missing), &mut buffer)?)?;
        let mut here = Vec::new();
        for (at, answer) in places.iter().zip(answers) {
            match answer {
                Answer::Here => here.push(*at),
                answer => found[*at] = place(&answer, into),
            }
        }
        let here_keys: Vec<&[u8]> = here.iter().map(|at| keys[*at]).collect();
        let known = self.memory().read_many(&here_keys, into)?;
        for (at, known) in here.into_iter().zip(known) {
            found[at] = match known {
                Known::Value(value, range) => Some((value, range)),
                // The value has been removed from the memory meanwhile.
                Known::Absent | Known::Unknown => self.read_after(keys[at], into)?,
            };
        }
        Ok(())
    }

    /// Reads one more key, and appends its bytes.
    fn read_after(self, key: &[u8], into: &mut Vec<u8>) -> Result<Option<Placed>, Refused> {
        let mut bytes = Vec::new();
        let found = self.read(key, &mut bytes)?;
        Ok(found.map(|found| (found, append(&bytes, into))))
    }

    /// Does each write for itself; returns the result of each. None of the writes ends a computation.
    pub fn write_many(self, writes: &[Write<'_>]) -> Vec<Result<Stored, Refused>> {
        let Some(client) = self.client() else {
            return self.memory().write_many(writes);
        };
        let mut done: Vec<_> = writes
            .iter()
            .map(|write| self.memory().check(write).map(|_| Stored::No))
            .collect();
        let checked: Vec<usize> = (0..writes.len()).filter(|at| done[*at].is_ok()).collect();
        let mut rest = &checked[..];
        while !rest.is_empty() {
            let (places, others) = rest.split_at(fitting(writes, rest));
            rest = others;
            let results = write_to_tier(client, writes, places);
            for (at, result) in places.iter().zip(results) {
                done[*at] = result;
            }
        }
        done
    }

    /// Deletes values; returns for each whether there was one.
    pub fn delete_many(self, keys: &[&[u8]]) -> Result<Vec<bool>, Refused> {
        let Some(client) = self.client() else {
            return self.memory().delete_many(keys);
        };
        let mut deleted = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS) {
            let keys = keys.iter().copied().map(Bytes::new).collect();
            let mut buffer = Vec::new();
            let answers = many(client.query(&Question::DeleteMany(keys), &mut buffer)?)?;
            for answer in &answers {
                deleted.push(as_bool(answer)?);
            }
        }
        Ok(deleted)
    }

    /// Deletes tags; returns how many of them existed.
    pub fn delete_tags(self, tags: &[&[u8]]) -> Result<usize, Refused> {
        let Some(client) = self.client() else {
            return self.memory().delete_tags(tags);
        };
        let mut deleted = 0;
        for tags in tags.chunks(KEYS) {
            let tags = tags.iter().copied().map(Bytes::new).collect();
            match client.query(&Question::DeleteTags(tags), &mut Vec::new())? {
                Answer::Sum(sum) => deleted += usize::try_from(sum).unwrap_or_default(),
                _ => return Err(Refused::Denied),
            }
        }
        Ok(deleted)
    }
}

fn many(answer: Answer<'_>) -> Result<Vec<Answer<'_>>, Refused> {
    match answer {
        Answer::Many(answers) => Ok(answers),
        _ => Err(Refused::Denied),
    }
}

fn append(bytes: &[u8], into: &mut Vec<u8>) -> Range<usize> {
    let start = into.len();
    into.extend_from_slice(bytes);
    start..into.len()
}

/// Returns the value of an answer, and appends its bytes; `None` for other answers.
fn place(answer: &Answer<'_>, into: &mut Vec<u8>) -> Option<Placed> {
    let &Answer::Value {
        encoding: number,
        int,
        bytes,
        expires,
        stale,
    } = answer
    else {
        return None;
    };
    let found = Found {
        validators: Vec::new(),
        encoding: encoding(number),
        int,
        expires,
        stale,
    };
    Some((found, append(bytes, into)))
}

/// Returns how many of the writes at these places fit in one question; at least one.
fn fitting(writes: &[Write<'_>], places: &[usize]) -> usize {
    let mut bytes = 0;
    let most = places.len().min(KEYS);
    let fit = places[..most].iter().position(|at| {
        bytes += writes[*at].key.len() + writes[*at].bytes.len();
        bytes > BYTES
    });
    fit.unwrap_or(most).max(1)
}

fn write_to_tier(
    client: &Client,
    writes: &[Write<'_>],
    places: &[usize],
) -> Vec<Result<Stored, Refused>> {
    let messages = places
        .iter()
        .map(|at| WriteMessage::of(&writes[*at]))
        .collect();
    let mut buffer = Vec::new();
    let answers = client.query(&Question::WriteMany(messages), &mut buffer);
    match answers.and_then(many) {
        Ok(answers) => answers.iter().map(stored).collect(),
        Err(why) => places.iter().map(|_| Err(why)).collect(),
    }
}

fn stored(answer: &Answer<'_>) -> Result<Stored, Refused> {
    match answer {
        Answer::Refused(why) => Err(Answer::why(*why)),
        answer => as_bool(answer).map(|is_done| if is_done { Stored::Yes } else { Stored::No }),
    }
}
