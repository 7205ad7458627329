//! The operations on the cache, and their results.

use crate::entry::{Encoding, Head};

/// Identifies an entry or a tag as it was read: it is current for as long as the cell has this sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Validator {
    pub sequence: u64,
    pub cell: u64,
}

/// An entry that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The entry's own validator, then those of its tags.
    pub validators: Vec<Validator>,
    pub encoding: Encoding,
    pub int: i64,
    /// When the entry expires, in microseconds of the cache's clock; 0 for never.
    pub expires: u64,
    /// The time from which on another value is to be computed, in microseconds of the cache's clock; 0 for never.
    pub stale: u64,
}

impl Found {
    pub(crate) fn of(head: Head<'_>) -> Found {
        let own = std::iter::once((head.cell, head.sequence()));
        let validators = own
            .chain(head.validators())
            .map(|(cell, sequence)| Validator {
                sequence,
                cell: u64::from(cell),
            });
        Found {
            validators: validators.collect(),
            encoding: head.encoding(),
            int: head.int().cast_signed(),
            expires: head.expires(),
            stale: head.stale(),
        }
    }
}

/// The condition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition<'a> {
    Always,
    /// There is no value.
    Absent,
    /// The value is this one.
    Equals(Encoding, i64, &'a [u8]),
    /// The computation of this key is still the caller's (see [`Cache::claim`](crate::Cache::claim)), and no value was
    /// written since it began.
    Claimed(u64),
}

/// A value and how it is written.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    pub key: &'a [u8],
    pub encoding: Encoding,
    pub int: i64,
    pub bytes: &'a [u8],
    /// Microseconds until the entry expires; 0 for never.
    pub ttl: u64,
    /// Microseconds until another value is to be computed; 0 for never.
    pub fresh: u64,
    pub tags: &'a [&'a [u8]],
    /// Validators from [`Cache::tags`](crate::Cache::tags), in place of tags. If a tag was deleted since, the entry is not
    /// alive.
    pub validators: &'a [Validator],
    pub condition: Condition<'a>,
}

impl<'a> Write<'a> {
    /// Makes a write of a plain value, without condition, expiry and tags.
    pub fn plain(key: &'a [u8], bytes: &'a [u8]) -> Self {
        Write {
            key,
            encoding: Encoding::Plain,
            int: 0,
            bytes,
            ttl: 0,
            fresh: 0,
            tags: &[],
            validators: &[],
            condition: Condition::Always,
        }
    }

    /// Makes a write of an integer, without condition, expiry and tags.
    pub fn int(key: &'a [u8], int: i64) -> Self {
        Write {
            encoding: Encoding::Int,
            int,
            ..Write::plain(key, &[])
        }
    }

    /// Returns the bytes of the value behind the fields.
    pub(crate) fn length(&self) -> usize {
        if self.encoding == Encoding::Int {
            0
        } else {
            self.bytes.len()
        }
    }
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    Yes,
    /// The condition does not hold.
    No,
}

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The entry takes more than the `most` bytes that one may have.
    TooLarge { most: usize },
    /// There is no room, and no entry that may be evicted.
    Full,
    /// Another process has held the lock for seconds.
    LockTimeout,
    /// The value is no integer.
    NotInt,
    /// The sum exceeds PHP's int.
    Overflow,
    /// The key is empty or too long, or there are too many tags.
    Key,
    /// The lock of the session is not the caller's.
    NotHeld,
    /// Only the second tier could answer, and it does not respond.
    Away,
    /// The second tier responds, but rejects the operation.
    Denied,
}
