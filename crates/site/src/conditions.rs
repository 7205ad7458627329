//! Conditional requests (RFC 9110, 13): may this be sent, and is it news?

use std::time::UNIX_EPOCH;

use http::HeaderMap;
use http::header::{
    HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE,
};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Send,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

/// In the order of section 13.2.2. `modified` is in seconds since 1970.
pub(crate) fn judge(headers: &HeaderMap, tag: &HeaderValue, modified: i64) -> Verdict {
    if headers.contains_key(IF_MATCH) {
        if !lists(headers, IF_MATCH, tag, Comparison::Strong) {
            return Verdict::Failed;
        }
    } else if date(headers.get(IF_UNMODIFIED_SINCE)).is_some_and(|since| modified > since) {
        return Verdict::Failed;
    }
    let known = if headers.contains_key(IF_NONE_MATCH) {
        lists(headers, IF_NONE_MATCH, tag, Comparison::Weak)
    } else {
        date(headers.get(IF_MODIFIED_SINCE)).is_some_and(|since| modified <= since)
    };
    if known {
        Verdict::NotModified
    } else {
        Verdict::Send
    }
}

/// Is there a range, and is it one of the file as it is now?
pub(crate) fn range_applies(headers: &HeaderMap, tag: &HeaderValue, modified: i64) -> bool {
    if !headers.contains_key(RANGE) {
        return false;
    }
    let Some(validator) = headers.get(IF_RANGE) else {
        return true;
    };
    if validator.as_bytes().starts_with(b"\"") {
        return validator == tag;
    }
    date(Some(validator)) == Some(modified)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// Is `tag` in the list of tags that this header has?
fn lists(headers: &HeaderMap, name: HeaderName, tag: &HeaderValue, how: Comparison) -> bool {
    let values = headers.get_all(name).into_iter();
    values
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|listed| {
            let listed = match how {
                Comparison::Weak => listed.strip_prefix(b"W/").unwrap_or(listed),
                Comparison::Strong => listed,
            };
            listed == b"*" || listed == tag.as_bytes()
        })
}

/// Seconds since 1970; `None` for what is no date, which is to be ignored.
fn date(value: Option<&HeaderValue>) -> Option<i64> {
    let time = httpdate::parse_http_date(value?.to_str().ok()?).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}
