//! What is asked of the cache, and what comes of it.

use crate::entry::Form;

/// An entry or a tag as it was: it is as long as the stamp of that cell is this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Mark {
    pub stamp: u64,
    pub cell: u64,
}

/// An entry that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its own first, then those of its tags.
    pub marks: Vec<Mark>,
    pub form: Form,
    pub int: i64,
    /// Microseconds of the cache's clock, 0 for never.
    pub expires: u64,
    /// Another value is to be computed from then on; 0 for never.
    pub stale: u64,
}

/// When a write is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition<'a> {
    Always,
    /// There is no value.
    Absent,
    /// The value is this one.
    Equals(Form, i64, &'a [u8]),
    /// The computation of this key is still the caller's (see [`Cache::claim`]), and no value was written since it began.
    Claimed(u64),
}

/// What is to be written.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    pub key: &'a [u8],
    pub form: Form,
    pub int: i64,
    pub bytes: &'a [u8],
    /// Microseconds from now, 0 for ever.
    pub ttl: u64,
    /// Microseconds from now until another value is to be computed, 0 for never.
    pub fresh: u64,
    pub tags: &'a [&'a [u8]],
    /// In place of tags: what [`Cache::tags`] gave. One that was deleted since ends the entry at once.
    pub marks: &'a [Mark],
    pub condition: Condition<'a>,
}

impl<'a> Write<'a> {
    /// Without a condition, for ever, without tags.
    pub fn plain(key: &'a [u8], bytes: &'a [u8]) -> Self {
        Write {
            key,
            form: Form::Plain,
            int: 0,
            bytes,
            ttl: 0,
            fresh: 0,
            tags: &[],
            marks: &[],
            condition: Condition::Always,
        }
    }

    /// The same, of a whole number.
    pub fn int(key: &'a [u8], int: i64) -> Self {
        Write {
            form: Form::Int,
            int,
            ..Write::plain(key, &[])
        }
    }

    /// How many bytes the value takes beside its entry.
    pub(crate) fn length(&self) -> usize {
        if self.form == Form::Int {
            0
        } else {
            self.bytes.len()
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    Yes,
    /// The condition does not hold.
    No,
}

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It takes more than one entry may, in bytes.
    TooLarge { most: usize },
    /// There is no room, and nothing that may be evicted.
    Full,
    /// Another process holds the lock for seconds.
    Stuck,
    /// What is there is no whole number.
    NotInt,
    /// PHP's int cannot hold the sum.
    Overflow,
    /// The key is empty or too long, or there are too many tags.
    Key,
    /// The lock of the session is not the caller's.
    NotHeld,
    /// Only the second tier could say, and it does not answer.
    Away,
    /// The second tier answers, and does not do it.
    Denied,
}
