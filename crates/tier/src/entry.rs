//! An entry in Redis: see [`scripts`](crate::scripts).

use cache::{Condition, Encoding, Write};

/// The fields of an entry, and its remaining time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) encoding: Encoding,
    pub(crate) int: i64,
    pub(crate) bytes: Vec<u8>,
    /// Microseconds until the entry expires; 0 for never.
    pub(crate) ttl: u64,
    /// Microseconds until another value is to be computed; 0 for never.
    pub(crate) fresh: u64,
    pub(crate) tags: Vec<(Vec<u8>, i64)>,
}

/// The result of a script: the remaining milliseconds, and the fields.
pub(crate) type Reply = (i64, Vec<Vec<u8>>);

pub(crate) fn number(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// Converts microseconds; the result is at least 1, except for 0, which means for ever.
pub(crate) fn milliseconds(microseconds: u64) -> u64 {
    microseconds.div_ceil(1000).min(i64::MAX as u64 / 4)
}

impl Entry {
    /// Returns `None` if there is no entry, or if this program has not written it.
    pub(crate) fn of((left, fields): Reply) -> Option<Entry> {
        let mut entry = Entry {
            encoding: Encoding::Int,
            int: 0,
            bytes: Vec::new(),
            ttl: u64::try_from(left).unwrap_or_default() * 1000,
            fresh: 0,
            tags: Vec::new(),
        };
        let (mut encoding, mut value) = (None, None);
        let mut fields = fields.into_iter();
        while let (Some(name), Some(content)) = (fields.next(), fields.next()) {
            match name.as_slice() {
                b"v" => value = Some(content),
                b"f" => encoding = number(&content),
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
        entry.encoding = match encoding? {
            0 => Encoding::Int,
            1 => Encoding::Plain,
            2 => Encoding::Serialized,
            _ => return None,
        };
        if entry.encoding == Encoding::Int {
            entry.int = number(&value?)?;
        } else {
            entry.bytes = value?;
        }
        Some(entry)
    }

    /// Returns the tags without the tag of the whole cache.
    pub(crate) fn named_tags(&self) -> impl Iterator<Item = &(Vec<u8>, i64)> {
        self.tags.iter().filter(|(name, _)| !name.is_empty())
    }
}

/// Returns the value of an entry as Redis stores it.
pub(crate) fn value(encoding: Encoding, int: i64, bytes: &[u8]) -> Vec<u8> {
    match encoding {
        Encoding::Int => int.to_string().into_bytes(),
        Encoding::Plain | Encoding::Serialized => bytes.to_vec(),
    }
}

/// Returns how long before its expiry a value is to be computed again, in milliseconds.
pub(crate) fn before_end(write: &Write<'_>) -> u64 {
    if write.fresh == 0 || write.ttl == 0 {
        0
    } else {
        milliseconds(write.ttl.saturating_sub(write.fresh)).max(1)
    }
}

/// Returns the name of a condition, and the two values that it compares with.
pub(crate) fn condition(
    condition: &Condition<'_>,
    claim: Option<&str>,
) -> (&'static str, Vec<u8>, Vec<u8>) {
    match *condition {
        Condition::Always => ("", vec![], vec![]),
        Condition::Absent => ("absent", vec![], vec![]),
        Condition::Claimed(_) => ("claimed", claim.unwrap_or("-").into(), vec![]),
        Condition::Equals(encoding, int, bytes) => (
            "equal",
            (encoding as u8).to_string().into_bytes(),
            value(encoding, int, bytes),
        ),
    }
}
