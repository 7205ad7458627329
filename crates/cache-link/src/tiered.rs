//! The operations of the cache, each done in the memory or, with a second tier, by way of that.

use cache::{Cache, Claim, Found, Known, Owner, Refused, Space, Stored, Tier, Validator, Write};

use crate::client::Client;
use crate::messages::{Answer, Question, WriteMessage, encoding, of_owner, owner, validator};

/// The longest wait for a change, in microseconds.
const AWAITED: u64 = 100_000;

/// The memory, and the client of the second tier behind it.
#[derive(Debug, Clone, Copy)]
pub struct Tiered<'c> {
    cache: &'c Cache,
    client: Option<&'c Client>,
}

pub(crate) fn as_bool(answer: &Answer<'_>) -> Result<bool, Refused> {
    match answer {
        Answer::Yes => Ok(true),
        Answer::No => Ok(false),
        _ => Err(Refused::Denied),
    }
}

impl<'c> Tiered<'c> {
    pub fn new(cache: &'c Cache, client: Option<&'c Client>) -> Tiered<'c> {
        Tiered {
            cache,
            client: client.filter(|_| cache.tier() != Tier::None),
        }
    }

    /// Returns the memory, with its own content and statistics.
    pub fn memory(self) -> &'c Cache {
        self.cache
    }

    /// Returns the client to query for keys that the memory does not know, if the second tier responds.
    pub(crate) fn there(self) -> Option<&'c Client> {
        let is_there = self.cache.tier() == Tier::There;
        self.client.filter(|_| is_there)
    }

    pub(crate) fn client(self) -> Option<&'c Client> {
        self.client
    }

    fn yes(self, client: &Client, question: &Question<'_>) -> Result<bool, Refused> {
        as_bool(&client.query(question, &mut Vec::new())?)
    }

    /// Reads a value. A value in the memory needs no question: it is removed here before its change is known elsewhere.
    pub fn read(self, key: &[u8], into: &mut Vec<u8>) -> Result<Option<Found>, Refused> {
        let client = match (self.cache.read_known(key, into)?, self.there()) {
            (Known::Value(found, _), _) => return Ok(Some(found)),
            (Known::Unknown, Some(client)) => client,
            (Known::Absent | Known::Unknown, _) => return Ok(None),
        };
        let mut buffer = Vec::new();
        for bytes in [false, true] {
            match client.query(&Question::Read { key, bytes }, &mut buffer)? {
                Answer::No => return Ok(None),
                Answer::Here => {
                    if let Some(found) = self.cache.read(key, into)? {
                        return Ok(Some(found));
                    }
                }
                Answer::Value {
                    encoding: number,
                    int,
                    bytes,
                    expires,
                    stale,
                } => {
                    into.clear();
                    into.extend_from_slice(bytes);
                    return Ok(Some(Found {
                        validators: Vec::new(),
                        encoding: encoding(number),
                        int,
                        expires,
                        stale,
                    }));
                }
                _ => return Err(Refused::Denied),
            }
        }
        Ok(None)
    }

    pub fn write(self, write: &Write<'_>) -> Result<Stored, Refused> {
        let Some(client) = self.client else {
            return self.cache.write(write);
        };
        self.cache.check(write)?;
        let is_done = self.yes(client, &Question::Write(WriteMessage::of(write)))?;
        Ok(if is_done { Stored::Yes } else { Stored::No })
    }

    pub fn increment(self, by: i64, write: &Write<'_>) -> Result<i64, Refused> {
        let Some(client) = self.client else {
            return self.cache.increment(by, write);
        };
        let write = Write { int: by, ..*write };
        self.cache.check(&write)?;
        match client.query(
            &Question::Increment(WriteMessage::of(&write)),
            &mut Vec::new(),
        )? {
            Answer::Sum(sum) => Ok(sum),
            _ => Err(Refused::Denied),
        }
    }

    pub fn delete(self, key: &[u8]) -> Result<bool, Refused> {
        match self.client {
            Some(client) => self.yes(client, &Question::Delete(key)),
            None => self.cache.delete(key),
        }
    }

    pub fn delete_tag(self, tag: &[u8]) -> Result<bool, Refused> {
        match self.client {
            Some(_) => Ok(self.delete_tags(&[tag])? > 0),
            None => self.cache.delete_tag(tag),
        }
    }

    pub fn clear(self) -> Result<(), Refused> {
        match self.client {
            Some(client) => self.yes(client, &Question::Clear).map(|_| ()),
            None => self.cache.clear(),
        }
    }

    /// Returns the tags as they are now, for a value that is computed from now on.
    pub fn tags(self, names: &[&[u8]]) -> Result<Vec<Validator>, Refused> {
        let Some(client) = self.client else {
            return self.cache.tags(names);
        };
        let names = names.iter().copied().map(serde_bytes::Bytes::new).collect();
        match client.query(&Question::Tags(names), &mut Vec::new())? {
            Answer::Validators(validators) => Ok(validators.iter().map(validator).collect()),
            _ => Err(Refused::Denied),
        }
    }

    /// Takes a claim as [`Cache::claim`] does. If another machine has the claim, the holder's process is 0.
    pub fn claim(self, space: Space, name: &[u8], by: Owner, ttl: u64) -> Result<Claim, Refused> {
        let Some(client) = self.client else {
            return self.cache.claim(space, name, by, ttl);
        };
        let question = Question::Claim {
            lock: space == Space::Lock,
            name,
            owner: of_owner(by),
            ttl,
        };
        match client.query(&question, &mut Vec::new())? {
            Answer::Number(token) => Ok(Claim::Taken(token)),
            Answer::Held(by) => Ok(Claim::Held(owner(by))),
            _ => Err(Refused::Denied),
        }
    }

    pub fn give_back(self, space: Space, name: &[u8], token: u64) -> Result<bool, Refused> {
        let Some(client) = self.client else {
            return self.cache.give_back(space, name, token);
        };
        let lock = space == Space::Lock;
        self.yes(client, &Question::GiveBack { lock, name, token })
    }

    pub fn token(
        self,
        space: Space,
        name: &[u8],
        of: Option<Owner>,
    ) -> Result<Option<u64>, Refused> {
        let Some(client) = self.client else {
            return self.cache.token(space, name, of);
        };
        let owner = of.map(of_owner);
        match client.query(&Question::Token { name, owner }, &mut Vec::new())? {
            Answer::Number(token) => Ok(Some(token)),
            answer => as_bool(&answer).map(|_| None),
        }
    }

    pub fn extend(self, space: Space, name: &[u8], token: u64, ttl: u64) -> Result<bool, Refused> {
        match self.client {
            Some(client) => self.yes(client, &Question::Extend { name, token, ttl }),
            None => self.cache.extend(space, name, token, ttl),
        }
    }

    pub fn holds_claim(self, space: Space, name: &[u8], token: u64) -> Result<bool, Refused> {
        match self.client {
            Some(client) => self.yes(client, &Question::Holds { name, token }),
            None => self.cache.holds_claim(space, name, token),
        }
    }

    /// Waits until this key, which another machine computes, changes; for 100 ms at most.
    pub fn wait_for(self, key: &[u8]) -> Result<(), Refused> {
        let most = AWAITED;
        match self.client {
            Some(client) => self.yes(client, &Question::Await { key, most }).map(|_| ()),
            None => Ok(()),
        }
    }
}
