//! Conditional requests (RFC 9110, section 13).

use std::time::UNIX_EPOCH;

use http1::Fields;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Send,
    /// The client has the current version: 304.
    NotModified,
    /// A precondition failed: 412.
    Failed,
}

/// Evaluates the preconditions in the order of section 13.2.2. `modified` is in seconds since 1970.
pub(crate) fn judge(fields: &Fields, tag: &str, modified: i64) -> Verdict {
    if fields.contains("If-Match") {
        if !lists(fields, "If-Match", tag, Comparison::Strong) {
            return Verdict::Failed;
        }
    } else if date(fields.get("If-Unmodified-Since")).is_some_and(|since| modified > since) {
        return Verdict::Failed;
    }
    let known = if fields.contains("If-None-Match") {
        lists(fields, "If-None-Match", tag, Comparison::Weak)
    } else {
        date(fields.get("If-Modified-Since")).is_some_and(|since| modified <= since)
    };
    if known {
        Verdict::NotModified
    } else {
        Verdict::Send
    }
}

/// Returns whether there is a range, and whether it applies to the file's current version.
pub(crate) fn range_applies(fields: &Fields, tag: &str, modified: i64) -> bool {
    if !fields.contains("Range") {
        return false;
    }
    let Some(validator) = fields.get("If-Range") else {
        return true;
    };
    if validator.starts_with(b"\"") {
        return validator == tag.as_bytes();
    }
    date(Some(validator)) == Some(modified)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// Returns whether `tag` is in the list of tags of this field.
fn lists(fields: &Fields, name: &str, tag: &str, how: Comparison) -> bool {
    let values = fields.get_all(name);
    values
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|listed| {
            let listed = match how {
                Comparison::Weak => listed.strip_prefix(b"W/").unwrap_or(listed),
                Comparison::Strong => listed,
            };
            listed == b"*" || listed == tag.as_bytes()
        })
}

/// Returns seconds since 1970; `None` if the value is no date, and the field is to be ignored.
fn date(value: Option<&[u8]>) -> Option<i64> {
    let time = httpdate::parse_http_date(std::str::from_utf8(value?).ok()?).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}
