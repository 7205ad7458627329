//! The field `Range: bytes=…` (RFC 9110, section 14).
//!
//! Several ranges that are not contiguous get the whole file, as the RFC allows: no known client depends on
//! multipart/byteranges.

use http1::Fields;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// The positions of the first and the last byte.
    Part(u64, u64),
    /// No part of the file: 416.
    Nothing,
}

pub(crate) fn wanted(fields: &Fields, length: u64) -> Wanted {
    fields
        .text("Range")
        .map_or(Wanted::All, |value| parse(value, length))
}

fn parse(value: &str, length: u64) -> Wanted {
    let Some((unit, list)) = value.split_once('=') else {
        return Wanted::All;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::All;
    }
    let mut ranges = Vec::new();
    for one in list.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        match bounds(one, length) {
            Some(Some(range)) => ranges.push(range),
            Some(None) => {}
            // One malformed range, and the field is ignored.
            None => return Wanted::All,
        }
    }
    ranges.sort_unstable();
    let Some(&(first, mut last)) = ranges.first() else {
        return if list.trim().is_empty() {
            Wanted::All
        } else {
            Wanted::Nothing
        };
    };
    for (begin, end) in &ranges[1..] {
        if *begin > last.saturating_add(1) {
            return Wanted::All;
        }
        last = last.max(*end);
    }
    Wanted::Part(first, last)
}

/// Returns `None` if the range is malformed, `Some(None)` if the file has no such part.
#[allow(clippy::option_option)]
fn bounds(one: &str, length: u64) -> Option<Option<(u64, u64)>> {
    let (first, last) = one.split_once('-')?;
    if first.is_empty() {
        let count = number(last)?.min(length);
        return Some((count > 0).then(|| (length - count, length - 1)));
    }
    let first = number(first)?;
    let last = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    if last < first {
        return None;
    }
    Some((first < length).then(|| (first, last.min(length - 1))))
}

fn number(digits: &str) -> Option<u64> {
    let digits = digits.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The number does not fit in 64 bits, so it is beyond the end of any file.
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ten_bytes() {
        for (value, expected) in [
            ("bytes=0-0", Wanted::Part(0, 0)),
            ("bytes=2-4", Wanted::Part(2, 4)),
            ("Bytes = 2-", Wanted::Part(2, 9)),
            ("bytes=-3", Wanted::Part(7, 9)),
            ("bytes=-99", Wanted::Part(0, 9)),
            ("bytes=9-99999999999999999999999", Wanted::Part(9, 9)),
            ("bytes=2-4, 3-6,7-7", Wanted::Part(2, 7)),
            ("bytes=50-,1-2", Wanted::Part(1, 2)),
            ("bytes=0-1,8-9", Wanted::All),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=4-2", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("bytes=", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=1", Wanted::All),
            ("lines=1-2", Wanted::All),
            ("", Wanted::All),
        ] {
            assert_eq!(parse(value, 10), expected, "{value}");
        }
        assert_eq!(parse("bytes=0-", 0), Wanted::Nothing);
    }
}
