//! From bytes to the head of a request.
//!
//! Fields are parsed by httparse, which is strict where leniency lets requests be smuggled: no folded lines, no space
//! before a colon, no bare CR, no NUL. The request line is parsed here, because targets of any bytes are taken.

use std::fmt;

use httparse::{EMPTY_HEADER, Status, parse_headers};

use crate::fields::{Span, is_token};
use crate::head::{RequestHead, Version};
use crate::target::Target;

/// How much a client may send before it is refused.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of the whole head, in bytes.
    pub head: usize,
    /// Of the target, in bytes.
    pub target: usize,
    pub fields: usize,
}

impl Limits {
    /// Positions in a head are kept in few bits.
    pub const LONGEST_TARGET: usize = 65_534;
    pub const MOST_FIELDS: usize = 128;
}

impl Default for Limits {
    fn default() -> Limits {
        crate::Settings::default().limits()
    }
}

/// Why a request is refused for its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It does not begin as one of HTTP/1 does.
    NoRequest,
    /// What it asks for is none that there can be.
    NoTarget,
    /// A line of its head is no field.
    NoField,
    /// Two lengths, or one that is none, or a length and chunks.
    Lengths,
    /// Its body is coded as nobody here understands.
    Coding,
    TargetTooLong,
    /// The head has too many bytes.
    TooLarge,
    TooManyFields,
    BodyTooLarge,
}

impl Refusal {
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Refusal::NoRequest
            | Refusal::NoTarget
            | Refusal::NoField
            | Refusal::Lengths
            | Refusal::Coding => 400,
            Refusal::TargetTooLong => 414,
            Refusal::TooLarge | Refusal::TooManyFields => 431,
            Refusal::BodyTooLarge => 413,
        }
    }
}

impl fmt::Display for Refusal {
    /// As the client reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.status() {
            414 => "The request target is too long.",
            431 => "The request head is too large.",
            413 => "The request body is too large (http.max_body).",
            _ => "The request is malformed.",
        })
    }
}

impl std::error::Error for Refusal {}

/// Nearly every request has fewer fields.
const USUAL: usize = 16;
/// With any limit.
const MOST: usize = Limits::MOST_FIELDS;

impl RequestHead {
    /// The head at the beginning of `bytes`, and how long it is there; `None` if more must come.
    ///
    /// # Errors
    /// If it is none, or larger than the limits.
    pub fn parse(bytes: &[u8], limits: Limits) -> Result<Option<(RequestHead, usize)>, Refusal> {
        let parsed = parse(bytes, limits)?;
        let longest = parsed.as_ref().map_or(bytes.len(), |(_, length)| *length);
        if longest > limits.head {
            return Err(Refusal::TooLarge);
        }
        Ok(parsed)
    }
}

fn parse(bytes: &[u8], limits: Limits) -> Result<Option<(RequestHead, usize)>, Refusal> {
    let Some(begin) = first_line(bytes)? else {
        return Ok(None);
    };
    let Some(line) = RequestLine::parse(&bytes[begin..], limits)? else {
        return Ok(None);
    };
    let rest = begin + line.length;
    let fields = &bytes[rest..];
    let mut few = [EMPTY_HEADER; USUAL];
    let found = match parse_headers(fields, &mut few[..USUAL.min(limits.fields)]) {
        Err(httparse::Error::TooManyHeaders) if limits.fields > USUAL => {
            let mut many = [EMPTY_HEADER; MOST];
            let parsed = parse_headers(fields, &mut many[..MOST.min(limits.fields)]);
            return finish(bytes, begin, &line, parsed);
        }
        found => found,
    };
    finish(bytes, begin, &line, found)
}

/// Empty lines before a request are skipped (RFC 9112, 2.2); `None` if nothing else has come.
fn first_line(bytes: &[u8]) -> Result<Option<usize>, Refusal> {
    let mut at = 0;
    loop {
        match &bytes[at..] {
            [b'\n', ..] => at += 1,
            [b'\r', b'\n', ..] => at += 2,
            [] | [b'\r'] => return Ok(None),
            [b'\r', ..] => return Err(Refusal::NoRequest),
            _ => return Ok(Some(at)),
        }
    }
}

struct RequestLine {
    method: usize,
    target: (usize, usize),
    version: Version,
    length: usize,
}

/// No method is longer.
const LONGEST_METHOD: usize = 64;

impl RequestLine {
    fn parse(bytes: &[u8], limits: Limits) -> Result<Option<RequestLine>, Refusal> {
        let head = &bytes[..bytes.len().min(LONGEST_METHOD + 1)];
        let Some(method) = head.iter().position(|byte| *byte == b' ') else {
            let is_beginning = head.len() <= LONGEST_METHOD && is_token(head);
            return if is_beginning {
                Ok(None)
            } else {
                Err(Refusal::NoRequest)
            };
        };
        if !is_token(&bytes[..method]) {
            return Err(Refusal::NoRequest);
        }
        let start = method + 1;
        let end = bytes[start..]
            .iter()
            .position(|&byte| byte <= b' ' || byte == 0x7f);
        let end = start + end.unwrap_or(bytes.len() - start);
        if end - start > limits.target {
            return Err(Refusal::TargetTooLong);
        }
        if end == bytes.len() {
            return Ok(None);
        }
        if bytes[end] != b' ' || end == start {
            return Err(Refusal::NoRequest);
        }
        Ok(
            version(&bytes[end + 1..])?.map(|(version, length)| RequestLine {
                method,
                target: (start, end),
                version,
                length: end + 1 + length,
            }),
        )
    }
}

/// The version and the end of its line; their length.
fn version(bytes: &[u8]) -> Result<Option<(Version, usize)>, Refusal> {
    const NAME: &[u8] = b"HTTP/1.";
    let begun = bytes.len().min(NAME.len());
    if bytes[..begun] != NAME[..begun] {
        return Err(Refusal::NoRequest);
    }
    let version = match bytes.get(NAME.len()) {
        None => return Ok(None),
        Some(b'1') => Version::Http11,
        Some(b'0') => Version::Http10,
        Some(_) => return Err(Refusal::NoRequest),
    };
    match &bytes[NAME.len() + 1..] {
        [] | [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => Ok(Some((version, NAME.len() + 3))),
        [b'\n', ..] => Ok(Some((version, NAME.len() + 2))),
        _ => Err(Refusal::NoRequest),
    }
}

type Found<'b, 'h> = Result<Status<(usize, &'h [httparse::Header<'b>])>, httparse::Error>;

/// The head in memory of its own.
fn finish(
    bytes: &[u8],
    begin: usize,
    line: &RequestLine,
    found: Found<'_, '_>,
) -> Result<Option<(RequestHead, usize)>, Refusal> {
    let (length, found) = match found {
        Ok(Status::Complete(found)) => found,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooManyFields),
        Err(_) => return Err(Refusal::NoField),
    };
    let end = begin + line.length + length;
    let mut head = RequestHead::empty();
    let fields = &mut head.fields;
    fields.refill(&bytes[begin..end], found.len());
    let base = bytes[begin..].as_ptr().addr();
    for field in found {
        let span = |part: &[u8]| {
            let start = if part.is_empty() {
                0
            } else {
                part.as_ptr().addr() - base
            };
            Span::new(start, start + part.len())
        };
        fields.add_span(span(field.name.as_bytes()), span(field.value));
    }
    let method = &bytes[begin..begin + line.method];
    let parts = Target::parse(method, line.target, fields).ok_or(Refusal::NoTarget)?;
    head.version = line.version;
    head.method = Span::new(0, line.method);
    head.target = Span::new(line.target.0, line.target.1);
    head.parts = parts;
    Ok(Some((head, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Option<(RequestHead, usize)>, Refusal> {
        RequestHead::parse(text, Limits::default())
    }

    fn head(text: &[u8]) -> RequestHead {
        parse(text).expect("a head").expect("all of it").0
    }

    #[test]
    fn a_head_and_its_parts() {
        let text = b"\r\n\nGET /a%20b/?x=1&y=\xff<\"> HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Pad: \t v w\t \r\n\r\nrest";
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!(&text[length..], b"rest");
        assert_eq!(
            (head.method(), head.version),
            (&b"GET"[..], Version::Http11)
        );
        assert_eq!(head.target(), b"/a%20b/?x=1&y=\xff<\">");
        assert_eq!(
            (head.path(), head.query()),
            (&b"/a%20b/"[..], &b"x=1&y=\xff<\">"[..])
        );
        assert_eq!(head.authority(), None);
        let fields: Vec<_> = head.fields.iter().collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"Host", b"h"), (b"X-Empty", b""), (b"X-Pad", b"v w")];
        assert_eq!(fields, expected);
        for end in 0..length {
            assert!(matches!(parse(&text[..end]), Ok(None)), "{end}");
        }
    }

    #[test]
    fn targets() {
        for (line, resource, path, query, authority) in [
            ("GET /", "/", "/", "", None),
            ("GET /?", "/?", "/", "", None),
            ("GET /a?b?c", "/a?b?c", "/a", "b?c", None),
            ("GET /a#b?c", "/a#b?c", "/a", "", None),
            ("GET /a?b#c", "/a?b#c", "/a", "b", None),
            ("GET //a", "//a", "//a", "", None),
            ("OPTIONS *", "*", "*", "", None),
            ("GET http://h:1/a?b", "/a?b", "/a", "b", Some("h:1")),
            ("GET HTTP://u:p@[::1]:2", "/", "/", "", Some("[::1]:2")),
            ("GET http://h?b", "/?b", "/", "b", Some("h")),
            ("CONNECT h:443", "", "", "", None),
        ] {
            let head = head(format!("{line} HTTP/1.1\r\n\r\n").as_bytes());
            let text = |bytes| std::str::from_utf8(bytes).unwrap();
            assert_eq!(
                (
                    text(head.resource()),
                    text(head.path()),
                    text(head.query()),
                    head.authority().map(text)
                ),
                (resource, path, query, authority),
                "{line}"
            );
        }
        for line in [
            "GET *",
            "GET h",
            "GET h:1",
            "GET a/b",
            "GET http:/a",
            "GET http://",
            "GET http:///a",
            "GET 1://h/",
            "GET http://u@/a",
            "GET http://h\u{e9}/",
            "CONNECT /a",
            "GET  /",
            "GET / ",
            "GET",
            "GET /\t",
            "G\0T /",
            "(GET) /",
        ] {
            let text = format!("{line} HTTP/1.1\r\n\r\n");
            assert_eq!(
                parse(text.as_bytes()).err().map(Refusal::status),
                Some(400),
                "{line}"
            );
        }
    }

    #[test]
    fn what_may_smuggle_is_refused() {
        for text in [
            "GET / HTTP/1.1\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\n A: b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\0\r\n\r\n",
            "GET / HTTP/1.1\r\nA\r\n\r\n",
            "GET / HTTP/1.1\r\n: b\r\n\r\n",
            "GET / HTTP/1.1 \r\n\r\n",
            "GET / HTTP/1.1\rA: b\r\n\r\n",
            "GET / HTTP/1.2\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET / http/1.1\r\n\r\n",
            "GET /\r\n\r\n",
            "\rGET / HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            assert_eq!(
                parse(text.as_bytes()).err().map(Refusal::status),
                Some(400),
                "{text:?}"
            );
        }
    }

    #[test]
    fn limits() {
        let many = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(count));
        assert_eq!(head(many(24).as_bytes()).fields.len(), 24);
        assert_eq!(head(many(100).as_bytes()).fields.len(), 100);
        assert_eq!(
            parse(many(101).as_bytes()).err(),
            Some(Refusal::TooManyFields)
        );
        let long = |length: usize| format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(length - 1));
        let most = 32 * 1024;
        let fits = long(most - "GET  HTTP/1.1\r\n\r\n".len());
        assert_eq!(head(fits.as_bytes()).target().len(), fits.len() - 17);
        assert_eq!(
            parse(long(most + 1).as_bytes()).err(),
            Some(Refusal::TargetTooLong)
        );
        let large = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(most));
        assert_eq!(parse(large.as_bytes()).err(), Some(Refusal::TooLarge));
        let unlimited = crate::Settings {
            max_header_size: 0,
            max_headers: 0,
            ..crate::Settings::default()
        };
        let of = |text: String| RequestHead::parse(text.as_bytes(), unlimited.limits());
        assert!(matches!(of(long(65_534)), Ok(Some(_))));
        assert_eq!(of(long(65_535)).err(), Some(Refusal::TargetTooLong));
        assert!(matches!(of(many(128)), Ok(Some(_))));
        assert_eq!(of(many(129)).err(), Some(Refusal::TooManyFields));
        let method = format!("{} / HTTP/1.1\r\n\r\n", "A".repeat(65));
        assert_eq!(parse(method.as_bytes()).err(), Some(Refusal::NoRequest));
    }
}
