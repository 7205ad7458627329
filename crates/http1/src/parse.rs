//! Parses the head of a request.
//!
//! httparse parses the fields. It is strict where leniency would allow request smuggling: no folded lines, no space before a
//! colon, no bare CR, no NUL. The request line is parsed here, because a target may contain any bytes.

use std::fmt;

use httparse::{EMPTY_HEADER, Status, parse_headers};

use crate::fields::{Span, is_token};
use crate::head::{RequestHead, Version};
use crate::target::Target;

/// The limits of a request's head.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The whole head, in bytes.
    pub head: usize,
    /// The target, in bytes.
    pub target: usize,
    pub fields: usize,
}

impl Limits {
    /// Bytes of the longest target, whatever the limit of the head.
    pub(crate) const LONGEST_TARGET: usize = 65_534;
    pub(crate) const MOST_FIELDS: usize = 128;
}

impl Default for Limits {
    fn default() -> Limits {
        crate::Settings::default().limits()
    }
}

/// Why a request is rejected for its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// The first line does not begin as a request of HTTP/1 does.
    NoRequest,
    /// The bytes begin as a PROXY protocol header does, but are malformed.
    NoProxyHeader,
    /// Invalid request target.
    NoTarget,
    /// A line of the head is no field.
    NoField,
    /// Two Content-Length fields, or an invalid one, or one with Transfer-Encoding.
    Lengths,
    /// Another major version of HTTP.
    Version,
    /// The transfer coding is not supported.
    Coding,
    /// Transfer-Encoding twice, or in HTTP/1.0.
    Chunks,
    TargetTooLong,
    /// The head has too many bytes.
    TooLarge,
    TooManyFields,
    BodyTooLarge,
}

impl ParseError {
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            ParseError::NoRequest
            | ParseError::NoProxyHeader
            | ParseError::NoTarget
            | ParseError::NoField
            | ParseError::Lengths
            | ParseError::Chunks => 400,
            ParseError::TargetTooLong => 414,
            ParseError::TooLarge | ParseError::TooManyFields => 431,
            ParseError::BodyTooLarge => 413,
            ParseError::Coding => 501,
            ParseError::Version => 505,
        }
    }
}

impl fmt::Display for ParseError {
    /// Writes the text for the client.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.status() {
            414 => "The request target is too long.",
            431 => "The request head is too large.",
            413 => "The request body is too large (http.max_body).",
            501 => "The transfer coding of the request is not supported; chunked is.",
            505 => "This server speaks HTTP/1.1.",
            _ => "The request is malformed.",
        })
    }
}

impl std::error::Error for ParseError {}

/// The number of fields that nearly all requests stay below.
const USUAL: usize = 16;
/// The most fields that [`Limits`] can allow.
const MOST: usize = Limits::MOST_FIELDS;

impl RequestHead {
    /// Parses the head at the beginning of `bytes`; returns it with its length there, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// If the bytes are no head, or exceed the limits.
    pub fn parse(bytes: &[u8], limits: Limits) -> Result<Option<(RequestHead, usize)>, ParseError> {
        let parsed = parse(bytes, limits)?;
        let longest = parsed.as_ref().map_or(bytes.len(), |(_, length)| *length);
        if longest > limits.head {
            return Err(ParseError::TooLarge);
        }
        Ok(parsed)
    }
}

fn parse(bytes: &[u8], limits: Limits) -> Result<Option<(RequestHead, usize)>, ParseError> {
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

/// Returns where the request line begins, behind empty lines (RFC 9112, section 2.2); `None` if nothing else was received.
fn first_line(bytes: &[u8]) -> Result<Option<usize>, ParseError> {
    let mut at = 0;
    loop {
        match &bytes[at..] {
            [b'\n', ..] => at += 1,
            [b'\r', b'\n', ..] => at += 2,
            [] | [b'\r'] => return Ok(None),
            [b'\r', ..] => return Err(ParseError::NoRequest),
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

/// Bytes of the longest method.
const LONGEST_METHOD: usize = 64;

impl RequestLine {
    fn parse(bytes: &[u8], limits: Limits) -> Result<Option<RequestLine>, ParseError> {
        let Some(method) = method(bytes)? else {
            return Ok(None);
        };
        let start = method + 1;
        let end = bytes[start..]
            .iter()
            .position(|&byte| byte <= b' ' || byte == 0x7f);
        let end = start + end.unwrap_or(bytes.len() - start);
        if end - start > limits.target {
            return Err(ParseError::TargetTooLong);
        }
        if end == bytes.len() {
            return Ok(None);
        }
        if bytes[end] != b' ' || end == start {
            return Err(ParseError::NoRequest);
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

/// Returns the length of the method; `None` if more bytes are needed.
fn method(bytes: &[u8]) -> Result<Option<usize>, ParseError> {
    match bytes {
        [b'G', b'E', b'T', b' ', ..] => return Ok(Some(3)),
        [b'P', b'O', b'S', b'T', b' ', ..] => return Ok(Some(4)),
        _ => {}
    }
    let head = &bytes[..bytes.len().min(LONGEST_METHOD + 1)];
    let end = head.iter().position(|byte| *byte == b' ');
    let is_whole_or_begun = end.is_some() || head.len() <= LONGEST_METHOD;
    if is_whole_or_begun && is_token(&head[..end.unwrap_or(head.len())]) {
        Ok(end)
    } else {
        Err(ParseError::NoRequest)
    }
}

/// Parses the version and the CR LF behind it; returns their length too.
fn version(bytes: &[u8]) -> Result<Option<(Version, usize)>, ParseError> {
    const NAME: &[u8] = b"HTTP/1.";
    let begun = bytes.len().min(NAME.len());
    if bytes[..begun] != NAME[..begun] {
        return other_version(bytes);
    }
    let version = match bytes.get(NAME.len()) {
        None => return Ok(None),
        Some(b'1') => Version::Http11,
        Some(b'0') => Version::Http10,
        Some(_) => return Err(ParseError::NoRequest),
    };
    match &bytes[NAME.len() + 1..] {
        [] | [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => Ok(Some((version, NAME.len() + 3))),
        _ => Err(ParseError::NoRequest),
    }
}

/// Returns the error for a version that Hearth does not speak; `None` if more bytes are needed to tell.
fn other_version<T>(bytes: &[u8]) -> Result<Option<T>, ParseError> {
    const FORM: &[u8] = b"HTTP/n.n\r";
    let fits = |(form, byte): (&u8, &u8)| match form {
        b'n' => byte.is_ascii_digit(),
        form => byte == form,
    };
    if !FORM.iter().zip(bytes).all(fits) || bytes.get(5).is_some_and(|major| *major < b'2') {
        return Err(ParseError::NoRequest);
    }
    match bytes.len() < FORM.len() {
        true => Ok(None),
        false => Err(ParseError::Version),
    }
}

type Found<'b, 'h> = Result<Status<(usize, &'h [httparse::Header<'b>])>, httparse::Error>;

/// Returns whether each line ends with CR LF. httparse accepts a lone LF too, where another server may see no end of line.
fn has_whole_line_ends(head: &[u8], fields: &[httparse::Header<'_>]) -> bool {
    let base = head.as_ptr().addr();
    let mut begins = fields.iter().map(|field| field.name.as_ptr().addr() - base);
    begins.all(|at| head[..at].ends_with(b"\r\n")) && head.ends_with(b"\r\n\r\n")
}

/// Copies the head to memory of its own.
fn finish(
    bytes: &[u8],
    begin: usize,
    line: &RequestLine,
    found: Found<'_, '_>,
) -> Result<Option<(RequestHead, usize)>, ParseError> {
    let (length, found) = match found {
        Ok(Status::Complete(found)) => found,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ParseError::TooManyFields),
        Err(_) => return Err(ParseError::NoField),
    };
    let end = begin + line.length + length;
    if !has_whole_line_ends(&bytes[begin..end], found) {
        return Err(ParseError::NoField);
    }
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
    let parts = Target::parse(method, line.target, fields).ok_or(ParseError::NoTarget)?;
    head.version = line.version;
    head.method = Span::new(0, line.method);
    head.target = Span::new(line.target.0, line.target.1);
    head.parts = parts;
    Ok(Some((head, end)))
}

#[cfg(test)]
mod tests;
