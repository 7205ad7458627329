//! The questions of a process to the supervisor, and the answers. Both programs are built from the same sources.

use cache::{Condition, Encoding, Owner, Refused, Validator, Write};
use serde::{Deserialize, Serialize};

/// A question to the second tier.
#[derive(Debug, Serialize, Deserialize)]
pub enum Question<'a> {
    /// Reads a value into the memory; with `bytes`, the answer contains the value in any case.
    Read {
        #[serde(borrow, with = "serde_bytes")]
        key: &'a [u8],
        bytes: bool,
    },
    /// Reads several values, without `bytes`.
    ReadMany(#[serde(borrow)] Vec<&'a serde_bytes::Bytes>),
    Write(#[serde(borrow)] WriteMessage<'a>),
    /// Writes several values, none of which ends a computation.
    WriteMany(#[serde(borrow)] Vec<WriteMessage<'a>>),
    Increment(#[serde(borrow)] WriteMessage<'a>),
    Delete(#[serde(borrow, with = "serde_bytes")] &'a [u8]),
    DeleteMany(#[serde(borrow)] Vec<&'a serde_bytes::Bytes>),
    DeleteTags(#[serde(borrow)] Vec<&'a serde_bytes::Bytes>),
    Clear,
    Tags(#[serde(borrow)] Vec<&'a serde_bytes::Bytes>),
    /// Takes a lock, or else claims the computation of a key.
    Claim {
        lock: bool,
        #[serde(borrow, with = "serde_bytes")]
        name: &'a [u8],
        owner: (u32, u32, u64),
        ttl: u64,
    },
    GiveBack {
        lock: bool,
        #[serde(borrow, with = "serde_bytes")]
        name: &'a [u8],
        token: u64,
    },
    /// Asks for the token of a lock.
    Token {
        #[serde(borrow, with = "serde_bytes")]
        name: &'a [u8],
        owner: Option<(u32, u32, u64)>,
    },
    /// Extends a lock.
    Extend {
        #[serde(borrow, with = "serde_bytes")]
        name: &'a [u8],
        token: u64,
        ttl: u64,
    },
    /// Asks whether a lock is held.
    Holds {
        #[serde(borrow, with = "serde_bytes")]
        name: &'a [u8],
        token: u64,
    },
    /// Waits until this key or its computation changes, for `most` microseconds at most.
    Await {
        #[serde(borrow, with = "serde_bytes")]
        key: &'a [u8],
        most: u64,
    },
}

impl<'a> Question<'a> {
    /// Returns the name that is to be claimed, and whether as a lock; `None` for other questions.
    pub fn claims(&self) -> Option<(bool, &'a [u8])> {
        match *self {
            Question::Claim { lock, name, .. } => Some((lock, name)),
            _ => None,
        }
    }
}

/// An answer of the second tier.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer<'a> {
    Yes,
    No,
    /// The value is in the memory.
    Here,
    Value {
        encoding: u8,
        int: i64,
        #[serde(borrow, with = "serde_bytes")]
        bytes: &'a [u8],
        expires: u64,
        stale: u64,
    },
    Sum(i64),
    Validators(Vec<(u64, u64)>),
    Number(u64),
    Held((u32, u32, u64)),
    Refused(u8),
    /// One answer for each key, in the order of the question.
    Many(#[serde(borrow)] Vec<Answer<'a>>),
}

/// The serialized form of [`Write`].
#[derive(Debug, Serialize, Deserialize)]
pub struct WriteMessage<'a> {
    #[serde(borrow, with = "serde_bytes")]
    pub key: &'a [u8],
    pub encoding: u8,
    pub int: i64,
    #[serde(borrow, with = "serde_bytes")]
    pub bytes: &'a [u8],
    pub ttl: u64,
    pub fresh: u64,
    #[serde(borrow)]
    pub tags: Vec<&'a serde_bytes::Bytes>,
    pub validators: Vec<(u64, u64)>,
    #[serde(borrow)]
    condition: ConditionMessage<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
enum ConditionMessage<'a> {
    Always,
    Absent,
    Equals(u8, i64, #[serde(borrow, with = "serde_bytes")] &'a [u8]),
    Claimed(u64),
}

const REFUSALS: [Refused; 8] = [
    Refused::Full,
    Refused::LockTimeout,
    Refused::NotInt,
    Refused::Overflow,
    Refused::Key,
    Refused::NotHeld,
    Refused::Away,
    Refused::Denied,
];

impl Answer<'_> {
    /// Returns the answer for a refusal. [`Refused::TooLarge`] is not sent: such a write is refused before the question.
    pub fn refused(why: Refused) -> Answer<'static> {
        let at = REFUSALS.iter().position(|refusal| *refusal == why);
        Answer::Refused(at.unwrap_or_default() as u8)
    }

    pub fn why(number: u8) -> Refused {
        let why = REFUSALS.get(usize::from(number));
        why.copied().unwrap_or(Refused::Full)
    }
}

pub(crate) fn encoding(number: u8) -> Encoding {
    match number {
        0 => Encoding::Int,
        1 => Encoding::Plain,
        _ => Encoding::Serialized,
    }
}

pub(crate) fn validator(&(sequence, cell): &(u64, u64)) -> Validator {
    Validator { sequence, cell }
}

pub(crate) fn owner((process, task, started): (u32, u32, u64)) -> Owner {
    Owner {
        process,
        task,
        started,
    }
}

pub(crate) fn of_owner(owner: Owner) -> (u32, u32, u64) {
    (owner.process, owner.task, owner.started)
}

impl<'a> WriteMessage<'a> {
    pub fn of(write: &Write<'a>) -> WriteMessage<'a> {
        WriteMessage {
            key: write.key,
            encoding: write.encoding as u8,
            int: write.int,
            bytes: write.bytes,
            ttl: write.ttl,
            fresh: write.fresh,
            tags: write
                .tags
                .iter()
                .copied()
                .map(serde_bytes::Bytes::new)
                .collect(),
            validators: write
                .validators
                .iter()
                .map(|validator| (validator.sequence, validator.cell))
                .collect(),
            condition: match write.condition {
                Condition::Always => ConditionMessage::Always,
                Condition::Absent => ConditionMessage::Absent,
                Condition::Equals(encoding, int, bytes) => {
                    ConditionMessage::Equals(encoding as u8, int, bytes)
                }
                Condition::Claimed(token) => ConditionMessage::Claimed(token),
            },
        }
    }

    /// Returns the token of the computation that this write ends, if it ends one.
    pub fn claim(&self) -> Option<u64> {
        match self.condition {
            ConditionMessage::Claimed(token) => Some(token),
            _ => None,
        }
    }

    /// Returns whether the write has the tags of a computation, or ends one.
    pub fn is_computed(&self) -> bool {
        !self.validators.is_empty() || self.claim().is_some()
    }

    /// Calls `f` with the write that this was made of.
    pub fn with<T>(&self, f: impl FnOnce(&Write<'_>) -> T) -> T {
        let tags: Vec<&[u8]> = self.tags.iter().map(|tag| &***tag).collect();
        let validators: Vec<Validator> = self.validators.iter().map(validator).collect();
        f(&Write {
            key: self.key,
            encoding: encoding(self.encoding),
            int: self.int,
            bytes: self.bytes,
            ttl: self.ttl,
            fresh: self.fresh,
            tags: &tags,
            validators: &validators,
            condition: match self.condition {
                ConditionMessage::Always => Condition::Always,
                ConditionMessage::Absent => Condition::Absent,
                ConditionMessage::Equals(number, int, bytes) => {
                    Condition::Equals(encoding(number), int, bytes)
                }
                ConditionMessage::Claimed(token) => Condition::Claimed(token),
            },
        })
    }
}

/// Encodes a message: its length in four bytes, then the message.
pub fn encode(message: &impl Serialize) -> Option<Vec<u8>> {
    let mut bytes = postcard::to_extend(message, vec![0; 4]).ok()?;
    let length = u32::try_from(bytes.len() - 4).ok()?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Some(bytes)
}

/// Decodes a message without its length.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
