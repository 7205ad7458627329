//! The status of a response as a script sets it, by the Common Gateway Interface (RFC 3875, section 6.3.3).

/// The status code of a response and the reason phrase behind it on the status line, empty for the usual phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status<'a> {
    pub(crate) code: u16,
    pub(crate) reason: &'a [u8],
}

impl<'a> Status<'a> {
    /// `line` is the status line that `header()` was given, such as `HTTP/1.1 404 Gone`; empty if it was given none.
    pub(crate) fn new(code: i32, line: &'a [u8]) -> Status<'a> {
        Status {
            code: u16::try_from(code).unwrap_or(500),
            reason: reason(line),
        }
    }

    /// Sets the status from the value of a `Status` field, such as `404 Gone`. An invalid value changes nothing.
    pub(crate) fn set(&mut self, value: &'a [u8]) {
        let digits = value.len() - behind(value, u8::is_ascii_digit).len();
        let code = str::from_utf8(&value[..digits])
            .ok()
            .and_then(|text| text.parse().ok());
        if let Some(code) = code.filter(|code| (100..=599).contains(code)) {
            *self = Status {
                code,
                reason: reason(value),
            };
        }
    }
}

/// Returns what follows the bytes at the beginning of `text` that `is_skipped` accepts.
fn behind(text: &[u8], is_skipped: impl Fn(&u8) -> bool) -> &[u8] {
    let end = text.iter().position(|byte| !is_skipped(byte));
    &text[end.unwrap_or(text.len())..]
}

/// Returns the reason phrase of `HTTP/1.1 404 Not Found` or `404 Not Found`.
fn reason(line: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| *byte == b' ';
    let line = if line.starts_with(b"HTTP/") {
        behind(line, |byte| !is_blank(byte))
    } else {
        line
    };
    let code = behind(line, is_blank);
    behind(behind(code, u8::is_ascii_digit), is_blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_gives_the_reason() {
        for (line, reason) in [
            ("HTTP/1.1 404 Not Found", "Not Found"),
            ("HTTP/1.0  404  Gone", "Gone"),
            ("404 Gone", "Gone"),
            ("HTTP/1.1 404", ""),
            ("HTTP/1.1", ""),
            ("", ""),
        ] {
            let status = Status::new(404, line.as_bytes());
            assert_eq!(str::from_utf8(status.reason), Ok(reason), "{line}");
            assert_eq!(status.code, 404);
        }
        assert_eq!(Status::new(-1, b"").code, 500);
    }

    #[test]
    fn a_status_field_is_the_status_if_it_is_one() {
        let line = Status::new(200, b"HTTP/1.1 200 Fine");
        for (value, expected) in [
            ("418 Teapot", (418, "Teapot")),
            ("404", (404, "")),
            ("99 Low", (200, "Fine")),
            ("600 High", (200, "Fine")),
            ("99999999999 Huge", (200, "Fine")),
            ("Gone", (200, "Fine")),
            ("", (200, "Fine")),
        ] {
            let mut status = line;
            status.set(value.as_bytes());
            let seen = (status.code, str::from_utf8(status.reason).unwrap());
            assert_eq!(seen, expected, "{value}");
        }
    }
}
