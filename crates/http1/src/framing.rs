//! How a request's body is delimited (RFC 9112, section 6), and what its head says about the connection.
//!
//! An ambiguous request is rejected: request smuggling needs a request that a proxy and the server read differently.

use crate::fields::{NameSet, has_token};
use crate::head::{RequestHead, Version};
use crate::parse::ParseError;

/// The framing of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestFraming {
    pub(crate) version: Version,
    pub(crate) is_head: bool,
    pub(crate) body: Length,
    pub(crate) keep_alive: bool,
    /// Whether the client sends its body only after a 100 (Continue).
    pub(crate) expects: bool,
}

/// The length of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Known(u64),
    Chunked,
}

/// The fields that [`FramingFields::take`] reads.
const FRAMING_FIELDS: NameSet = NameSet::of([
    "Expect",
    "Connection",
    "Content-Length",
    "Transfer-Encoding",
]);

#[derive(Default)]
struct FramingFields {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects: bool,
}

impl RequestFraming {
    pub(crate) fn of(head: &RequestHead) -> Result<RequestFraming, ParseError> {
        let mut found = FramingFields::default();
        if head.fields.may_have(FRAMING_FIELDS) {
            for (name, value) in head.fields.iter() {
                found.take(name, value)?;
            }
        }
        let is_11 = head.version == Version::Http11;
        if found.chunked && !is_11 {
            return Err(ParseError::Chunks);
        }
        if found.chunked && found.length.is_some() {
            return Err(ParseError::Lengths);
        }
        let body = if found.chunked {
            Length::Chunked
        } else {
            Length::Known(found.length.unwrap_or(0))
        };
        Ok(RequestFraming {
            version: head.version,
            is_head: head.is_head(),
            body,
            keep_alive: !found.close && (is_11 || found.keep_alive),
            expects: found.expects && is_11 && body != Length::Known(0),
        })
    }
}

impl RequestFraming {
    /// Rejects a body that is known to be larger than `most` bytes.
    pub(crate) fn up_to(self, most: u64) -> Result<RequestFraming, ParseError> {
        match self.body {
            Length::Known(length) if length > most => Err(ParseError::BodyTooLarge),
            _ => Ok(self),
        }
    }
}

impl FramingFields {
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), ParseError> {
        // The length of the name excludes nearly all other fields.
        match name.len() {
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects = value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.close |= has_token(value, "close");
                self.keep_alive |= has_token(value, "keep-alive");
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let before = self.length.replace(number(value)?);
                if before.is_some() {
                    return Err(ParseError::Lengths);
                }
            }
            // With another coding, the end of the body would be unknown.
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(ParseError::Coding);
                }
                if std::mem::replace(&mut self.chunked, true) {
                    return Err(ParseError::Chunks);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Parses a number that consists of digits only, up to `i64::MAX`.
fn number(value: &[u8]) -> Result<u64, ParseError> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(ParseError::Lengths);
    }
    let text = std::str::from_utf8(value).map_err(|_| ParseError::Lengths)?;
    let number: u64 = text.parse().map_err(|_| ParseError::Lengths)?;
    if number > i64::MAX.unsigned_abs() {
        return Err(ParseError::Lengths);
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::Limits;

    fn framing(line: &str, fields: &str) -> Result<RequestFraming, ParseError> {
        let text = format!("{line}\r\n{fields}\r\n");
        let parsed = RequestHead::parse(text.as_bytes(), Limits::default());
        RequestFraming::of(&parsed.expect("a head").expect("all of it").0)
    }

    const POST: &str = "POST / HTTP/1.1";

    #[test]
    fn bodies() {
        for (fields, expected) in [
            ("", Length::Known(0)),
            ("Content-Length: 0\r\n", Length::Known(0)),
            ("content-LENGTH:  0012 \r\n", Length::Known(12)),
            ("Transfer-Encoding: Chunked\r\n", Length::Chunked),
        ] {
            assert_eq!(
                framing(POST, fields).map(|framing| framing.body),
                Ok(expected),
                "{fields}"
            );
        }
    }

    #[test]
    fn what_two_may_understand_differently_is_refused() {
        for fields in [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length: 1 1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 9223372036854775808\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: \x0bchunked\r\n",
            "Transfer-Encoding:\r\n",
        ] {
            if fields.contains('\x0b') {
                let text = format!("{POST}\r\n{fields}\r\n");
                let parsed = RequestHead::parse(text.as_bytes(), Limits::default());
                assert_eq!(parsed.err(), Some(ParseError::NoField), "{fields}");
            } else {
                let refused = framing(POST, fields).map_err(ParseError::status);
                assert!(matches!(refused, Err(400 | 501)), "{fields}: {refused:?}");
            }
        }
        let old = framing("POST / HTTP/1.0", "Transfer-Encoding: chunked\r\n");
        assert_eq!(old, Err(ParseError::Chunks));
    }

    #[test]
    fn who_stays() {
        for (line, fields, expected) in [
            ("GET / HTTP/1.1", "", true),
            ("GET / HTTP/1.1", "Connection: x, Close\r\n", false),
            (
                "GET / HTTP/1.1",
                "Connection: close\r\nConnection: keep-alive\r\n",
                false,
            ),
            ("GET / HTTP/1.0", "", false),
            ("GET / HTTP/1.0", "Connection: Keep-Alive\r\n", true),
            ("GET / HTTP/1.0", "Connection: keep-alive, close\r\n", false),
            (
                "GET / HTTP/1.1",
                "Connection: upgrade\r\nUpgrade: h2c\r\n",
                true,
            ),
        ] {
            let keep_alive = framing(line, fields).map(|framing| framing.keep_alive);
            assert_eq!(keep_alive, Ok(expected), "{line} {fields}");
        }
    }

    #[test]
    fn who_waits_for_a_100() {
        let fields = "Expect: 100-Continue\r\nContent-Length: 1\r\n";
        assert!(framing(POST, fields).unwrap().expects);
        assert!(!framing("POST / HTTP/1.0", fields).unwrap().expects);
        assert!(!framing(POST, "Expect: 100-continue\r\n").unwrap().expects);
        assert!(
            !framing(POST, "Expect: x\r\nContent-Length: 1\r\n")
                .unwrap()
                .expects
        );
    }
}
