//! The field `Range: bytes=…` (RFC 9110, section 14).
//!
//! Several ranges that are not contiguous get the whole file, as the RFC allows: no known client depends on
//! multipart/byteranges.

use http1::Fields;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    All,
    /// The positions of the first and the last byte.
    Part(u64, u64),
    /// No part of the file: 416.
    Nothing,
}

pub(crate) fn requested(fields: &Fields, length: u64) -> RequestedRange {
    fields
        .text("Range")
        .map_or(RequestedRange::All, |value| parse(value, length))
}

fn parse(value: &str, length: u64) -> RequestedRange {
    let Some((unit, list)) = value.split_once('=') else {
        return RequestedRange::All;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return RequestedRange::All;
    }
    let mut ranges = Vec::new();
    for one in list.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        match bounds(one, length) {
            Some(Some(range)) => ranges.push(range),
            Some(None) => {}
            // One malformed range, and the field is ignored.
            None => return RequestedRange::All,
        }
    }
    ranges.sort_unstable();
    let Some(&(first, mut last)) = ranges.first() else {
        return if list.trim().is_empty() {
            RequestedRange::All
        } else {
            RequestedRange::Nothing
        };
    };
    for (begin, end) in &ranges[1..] {
        if *begin > last.saturating_add(1) {
            return RequestedRange::All;
        }
        last = last.max(*end);
    }
    RequestedRange::Part(first, last)
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
            ("bytes=0-0", RequestedRange::Part(0, 0)),
            ("bytes=2-4", RequestedRange::Part(2, 4)),
            ("Bytes = 2-", RequestedRange::Part(2, 9)),
            ("bytes=-3", RequestedRange::Part(7, 9)),
            ("bytes=-99", RequestedRange::Part(0, 9)),
            (
                "bytes=9-99999999999999999999999",
                RequestedRange::Part(9, 9),
            ),
            ("bytes=2-4, 3-6,7-7", RequestedRange::Part(2, 7)),
            ("bytes=50-,1-2", RequestedRange::Part(1, 2)),
            ("bytes=0-1,8-9", RequestedRange::All),
            ("bytes=10-", RequestedRange::Nothing),
            ("bytes=-0", RequestedRange::Nothing),
            ("bytes=4-2", RequestedRange::All),
            ("bytes=a-b", RequestedRange::All),
            ("bytes=+1-2", RequestedRange::All),
            ("bytes=", RequestedRange::All),
            ("bytes=-", RequestedRange::All),
            ("bytes=1", RequestedRange::All),
            ("lines=1-2", RequestedRange::All),
            ("", RequestedRange::All),
        ] {
            assert_eq!(parse(value, 10), expected, "{value}");
        }
        assert_eq!(parse("bytes=0-", 0), RequestedRange::Nothing);
    }
}
