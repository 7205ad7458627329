//! The encoding of a response's head, and the choice of how its body is delimited.

use std::io;

use bytes::Bytes;

use crate::date;
use crate::fields::{has_token, is_value};
use crate::framing::RequestFraming;
use crate::head::{ResponseHead, Version};
use crate::output::Output;
use crate::parse::ParseError;

/// How the body of a response is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// No body is sent.
    None,
    /// A body of this number of bytes.
    Length(u64),
    Chunked,
    /// A body that ends when the connection is closed.
    UntilClose,
}

impl Framing {
    /// Returns the bytes of the body that may still be added.
    pub(crate) fn room(&self) -> u64 {
        match self {
            Framing::None => 0,
            Framing::Length(left) => *left,
            Framing::Chunked | Framing::UntilClose => u64::MAX,
        }
    }

    /// Adds a piece of the body, or its end (`None`); returns whether the body is complete.
    ///
    /// # Errors
    /// If the body ends before the announced length.
    pub(crate) fn push(&mut self, output: &mut Output, piece: Option<Bytes>) -> io::Result<bool> {
        match (self, piece) {
            (Framing::None, _) | (Framing::UntilClose, None) => Ok(true),
            (Framing::UntilClose, Some(piece)) => {
                output.push(piece, b"");
                Ok(false)
            }
            (Framing::Chunked, Some(piece)) => {
                chunk(output.buffer(), piece.len());
                output.push(piece, b"\r\n");
                Ok(false)
            }
            (Framing::Chunked, None) => {
                output.buffer().extend_from_slice(b"0\r\n\r\n");
                Ok(true)
            }
            (Framing::Length(left), Some(mut piece)) => {
                // Bytes beyond the announced length would be taken for the next response.
                piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= piece.len() as u64;
                output.push(piece, b"");
                Ok(*left == 0)
            }
            (Framing::Length(0), None) => Ok(true),
            (Framing::Length(_), None) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The result of [`head`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    pub(crate) keep_alive: bool,
}

/// What the response's own fields say about its length, its date and the connection.
#[derive(Default)]
struct FramingFields {
    length: Option<u64>,
    close: bool,
    date: bool,
}

/// Writes the head. `length` is that of the body, where it is known.
pub(crate) fn head(
    out: &mut Vec<u8>,
    head: &ResponseHead,
    request: &RequestFraming,
    length: Option<u64>,
    with_date: bool,
) -> Encoded {
    // A 1xx response is not final: the client would wait for another one, which never comes.
    let status = if head.status < 200 { 500 } else { head.status };
    out.reserve(256);
    status_line(out, request.version, status, &head.reason);
    let mut given = FramingFields::default();
    head.fields
        .write_some(out, |name, value| !given.is_ours(name, value));
    let length = if head.status < 200 { Some(0) } else { length };
    let framing = body(out, status, request, length, given.length);
    let keep_alive = request.keep_alive && !given.close && framing != Framing::UntilClose;
    match (keep_alive, request.version) {
        (true, Version::Http11) => {}
        (true, Version::Http10) => out.extend_from_slice(b"Connection: keep-alive\r\n"),
        (false, _) => out.extend_from_slice(b"Connection: close\r\n"),
    }
    if with_date && !given.date {
        date::write_to(out);
    }
    out.extend_from_slice(b"\r\n");
    Encoded {
        status,
        framing,
        keep_alive,
    }
}

/// Returns the body of the response to a request that is refused.
pub(crate) fn error_text(error: ParseError) -> String {
    format!("{error}\n")
}

/// Writes the response to a request that is refused; the connection is closed after it.
pub(crate) fn error(out: &mut Vec<u8>, error: ParseError) {
    let text = error_text(error);
    status_line(out, Version::Http11, error.status(), b"");
    out.extend_from_slice(b"Content-Type: text/plain; charset=UTF-8\r\n");
    content_length(out, text.len() as u64);
    out.extend_from_slice(b"Connection: close\r\n");
    date::write_to(out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(text.as_bytes());
}

fn status_line(out: &mut Vec<u8>, version: Version, status: u16, reason: &[u8]) {
    if status == 200 && version == Version::Http11 && reason.is_empty() {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(version.as_str().as_bytes());
    out.push(b' ');
    number(out, u64::from(status));
    out.push(b' ');
    // A reason with characters that HTTP forbids comes from the app; the usual reason is sent instead.
    out.extend_from_slice(if reason.is_empty() || !is_value(reason) {
        usual_reason(status).as_bytes()
    } else {
        reason
    });
    out.extend_from_slice(b"\r\n");
}

impl FramingFields {
    /// Returns whether the connection itself writes this field; notes what the field says.
    fn is_ours(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"date") => {
                self.date = true;
                false
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.close |= has_token(value, "close");
                true
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = std::str::from_utf8(value).ok();
                self.length = self
                    .length
                    .or(length.and_then(|length| length.parse().ok()));
                true
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => true,
            _ => false,
        }
    }
}

/// Writes the field that delimits the body: `length` if it is known, else the Content-Length that the app has set.
fn body(
    out: &mut Vec<u8>,
    status: u16,
    request: &RequestFraming,
    length: Option<u64>,
    given: Option<u64>,
) -> Framing {
    if matches!(status, 204 | 304) {
        return Framing::None;
    }
    if request.is_head {
        // The length that GET would get.
        if let Some(length) = given.or(length.filter(|length| *length > 0)) {
            content_length(out, length);
        }
        return Framing::None;
    }
    if let Some(length) = length.or(given) {
        content_length(out, length);
        return Framing::Length(length);
    }
    if request.version == Version::Http10 {
        return Framing::UntilClose;
    }
    out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    Framing::Chunked
}

fn content_length(out: &mut Vec<u8>, length: u64) {
    out.extend_from_slice(b"Content-Length: ");
    number(out, length);
    out.extend_from_slice(b"\r\n");
}

fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        #[allow(clippy::cast_possible_truncation, reason = "a digit")]
        let digit = (number % 10) as u8;
        digits[at] = b'0' + digit;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes the size line of a chunk.
fn chunk(out: &mut Vec<u8>, mut size: usize) {
    let mut digits = [0; 16];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[size % 16];
        size /= 16;
        if size == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

/// Returns the reason phrase of RFC 9110 or of the IANA registry.
fn usual_reason(status: u16) -> &'static str {
    let known = http::StatusCode::from_u16(status).ok();
    known
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines() {
        for (version, status, reason, line) in [
            (Version::Http11, 200, "", "HTTP/1.1 200 OK\r\n"),
            (Version::Http10, 404, "", "HTTP/1.0 404 Not Found\r\n"),
            (
                Version::Http11,
                200,
                "Fine\u{e4}",
                "HTTP/1.1 200 Fine\u{e4}\r\n",
            ),
            (Version::Http11, 599, "", "HTTP/1.1 599 Unknown\r\n"),
            (
                Version::Http11,
                404,
                "a\r\nB: c",
                "HTTP/1.1 404 Not Found\r\n",
            ),
        ] {
            let mut out = Vec::new();
            status_line(&mut out, version, status, reason.as_bytes());
            assert_eq!(out, line.as_bytes());
        }
    }
}
