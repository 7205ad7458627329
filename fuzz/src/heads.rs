//! Heads of requests.

use http1::{Limits, ParseError, RequestHead, Version};

use crate::input::{Input, pieces};
use crate::oracle::{self, Seen};

/// Parses a head; the first byte determines where the rest is cut.
///
/// A head is the same wherever its bytes were cut, and when it is written and read again; where hyper accepts it too,
/// hyper reads the same, and a head that hyper accepts is accepted.
///
/// # Panics
/// If that does not hold.
pub fn request_heads(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let seed = input.byte();
    let bytes = input.rest();
    let whole = RequestHead::parse(bytes, Limits::default());
    comes_in_pieces(bytes, seed, &whole);
    let seen = oracle::requests(bytes).into_iter().next();
    match (&whole, seen) {
        (Ok(Some((head, length))), seen) => {
            assert!(*length <= bytes.len());
            is_written_and_read(head);
            if let Some(seen) = seen {
                same(head, &seen);
            }
        }
        (refused, Some(seen)) => assert!(
            is_refused_on_purpose(&seen) || has_lone_line_feed(bytes),
            "{refused:?}, but hyper has {seen:?}"
        ),
        (_, None) => {}
    }
}

/// Returns whether we are stricter on purpose: RFC 9112, 3.2, allows a bare host for CONNECT only, and the asterisk for
/// OPTIONS only; a scheme consists of letters, digits and three marks, a letter first (RFC 3986, 3.1).
fn is_refused_on_purpose(seen: &Seen) -> bool {
    (seen.resource.is_empty() != (seen.method == b"CONNECT"))
        || (seen.resource == b"*" && seen.method != b"OPTIONS")
        || seen
            .scheme
            .as_ref()
            .is_some_and(|scheme| !is_scheme(scheme))
}

/// Returns whether a line ends with LF only: RFC 9112, 2.2, allows a recipient to accept that, and hyper does.
fn has_lone_line_feed(bytes: &[u8]) -> bool {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines
        .into_iter()
        .any(|line| line.ends_with(b"\n") && !line.ends_with(b"\r\n"))
}

fn is_scheme(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_inside)
}

type Parsed = Result<Option<(RequestHead, usize)>, ParseError>;

fn comes_in_pieces(bytes: &[u8], seed: u8, whole: &Parsed) {
    let mut come = 0;
    for piece in pieces(bytes, seed.max(2)) {
        come += piece.len();
        match (RequestHead::parse(&bytes[..come], Limits::default()), whole) {
            (Ok(None), Ok(Some((_, length)))) => assert!(come < *length, "late"),
            (Ok(None), _) => {}
            (Ok(Some((_, early))), Ok(Some((_, length)))) => {
                assert_eq!(early, *length);
                return;
            }
            (Err(_), Err(_)) => return,
            (early, _) => panic!("{early:?} after {come} bytes, then {whole:?}"),
        }
    }
}

fn is_written_and_read(head: &RequestHead) {
    let mut written = Vec::new();
    head.write_to(&mut written);
    written.extend_from_slice(b"\r\n");
    let (again, length) = RequestHead::parse(
        &written,
        Limits {
            head: usize::MAX,
            ..Limits::default()
        },
    )
    .expect("what was read can be read again")
    .expect("all of it");
    assert_eq!(length, written.len());
    let built = RequestHead::build(head.method(), head.target(), head.version, &head.fields)
        .expect("what was read can be built");
    for again in [again, built] {
        assert_eq!(facts(&again), facts(head));
        assert!(again.fields.iter().eq(head.fields.iter()));
    }
}

fn facts(head: &RequestHead) -> ([&[u8]; 5], Option<&[u8]>, Version) {
    (
        [
            head.method(),
            head.target(),
            head.resource(),
            head.path(),
            head.query(),
        ],
        head.authority(),
        head.version,
    )
}

fn same(head: &RequestHead, seen: &Seen) {
    assert_eq!(head.method(), seen.method);
    assert_eq!(head.version == Version::Http10, seen.is_http10);
    let mut fields: Vec<_> = head
        .fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    // The connection judges lengths. hyper removes a length beside chunks, and a repeated one.
    fields.dedup_by(|next, one| one.0 == b"content-length" && next.0 == one.0);
    if seen
        .fields
        .iter()
        .any(|(name, _)| name == b"transfer-encoding")
    {
        fields.retain(|(name, _)| name != b"content-length");
    }
    assert_eq!(fields, seen.fields);
    // hyper removes a fragment, which we keep for REQUEST_URI, and takes the host of CONNECT for its target.
    if !head.target().contains(&b'#') && head.method() != b"CONNECT" {
        assert_eq!(
            head.resource().escape_ascii().to_string(),
            seen.resource.escape_ascii().to_string()
        );
        let named = seen
            .authority
            .as_ref()
            .map(|named| named.rsplit('@').next().unwrap_or(named));
        assert_eq!(head.authority(), named.map(str::as_bytes));
    }
}
