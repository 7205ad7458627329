//! An entry as Redis has it: see [`scripts`](crate::scripts).

use cache::{Condition, Form, Write};

/// Fields of an entry, and how long it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) form: Form,
    pub(crate) int: i64,
    pub(crate) bytes: Vec<u8>,
    /// Microseconds, 0 for ever.
    pub(crate) ttl: u64,
    /// Microseconds until another is to be computed, 0 for never.
    pub(crate) fresh: u64,
    pub(crate) tags: Vec<(Vec<u8>, i64)>,
}

/// What a script gives: milliseconds that are left, and the fields.
pub(crate) type Reply = (i64, Vec<Vec<u8>>);

pub(crate) fn number(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// At least one, unless it is 0, which is for ever.
pub(crate) fn milliseconds(microseconds: u64) -> u64 {
    microseconds.div_ceil(1000).min(i64::MAX as u64 / 4)
}

impl Entry {
    /// `None` where there is none, or what is there was not written by this program.
    pub(crate) fn of((left, fields): Reply) -> Option<Entry> {
        let mut entry = Entry {
            form: Form::Int,
            int: 0,
            bytes: Vec::new(),
            ttl: u64::try_from(left).unwrap_or_default() * 1000,
            fresh: 0,
            tags: Vec::new(),
        };
        let (mut form, mut value) = (None, None);
        let mut fields = fields.into_iter();
        while let (Some(name), Some(content)) = (fields.next(), fields.next()) {
            match name.as_slice() {
                b"v" => value = Some(content),
                b"f" => form = number(&content),
                b"s" => {
                    let before_end = u64::try_from(number(&content)?).ok()? * 1000;
                    if before_end > 0 && entry.ttl > 0 {
                        entry.fresh = entry.ttl.saturating_sub(before_end).max(1);
                    }
                }
                [b'T', tag @ ..] => entry.tags.push((tag.to_vec(), number(&content)?)),
                _ => {}
            }
        }
        entry.form = match form? {
            0 => Form::Int,
            1 => Form::Plain,
            2 => Form::Serialized,
            _ => return None,
        };
        if entry.form == Form::Int {
            entry.int = number(&value?)?;
        } else {
            entry.bytes = value?;
        }
        Some(entry)
    }

    /// The tags without that of the whole cache.
    pub(crate) fn named_tags(&self) -> impl Iterator<Item = &(Vec<u8>, i64)> {
        self.tags.iter().filter(|(name, _)| !name.is_empty())
    }
}

/// The value of an entry as Redis keeps it.
pub(crate) fn value(form: Form, int: i64, bytes: &[u8]) -> Vec<u8> {
    match form {
        Form::Int => int.to_string().into_bytes(),
        Form::Plain | Form::Serialized => bytes.to_vec(),
    }
}

/// How long before its end a value is computed again, in milliseconds.
pub(crate) fn before_end(write: &Write<'_>) -> u64 {
    if write.fresh == 0 || write.ttl == 0 {
        0
    } else {
        milliseconds(write.ttl.saturating_sub(write.fresh)).max(1)
    }
}

/// The name of a condition, and what it compares with.
pub(crate) fn condition(
    condition: &Condition<'_>,
    claim: Option<&str>,
) -> (&'static str, Vec<u8>, Vec<u8>) {
    match *condition {
        Condition::Always => ("", vec![], vec![]),
        Condition::Absent => ("absent", vec![], vec![]),
        Condition::Claimed(_) => ("claimed", claim.unwrap_or("-").into(), vec![]),
        Condition::Equals(form, int, bytes) => (
            "equal",
            (form as u8).to_string().into_bytes(),
            value(form, int, bytes),
        ),
    }
}
