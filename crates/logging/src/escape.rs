//! Escapes text from clients and PHP code for a log line or a terminal: on one line, and without control characters.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text with each control character escaped: `\n`, `\r` and `\t` as such, other ASCII characters as `\x1b`,
/// those beyond ASCII (C1, line and paragraph separators) as `\u{9b}`. So the text can neither forge a line nor change the
/// terminal that shows it.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Writing to a String does not fail.
        let _ = match c {
            '\n' | '\r' | '\t' => write!(out, "{}", c.escape_default()),
            c if c.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(c)),
            c if is_unprintable(c) => write!(out, "{}", c.escape_unicode()),
            c => out.write_char(c),
        };
    }
    out.into()
}

fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert!(matches!(
            escaped("GET /ä?x=\\n key=value"),
            Cow::Borrowed(_)
        ));
        assert_eq!(
            escaped("a\r\n\t\x1b[31m\x7f\u{9b}\u{2028}\0b"),
            "a\\r\\n\\t\\x1b[31m\\x7f\\u{9b}\\u{2028}\\x00b"
        );
        let all: String = (0..0x1_0000_u32).filter_map(char::from_u32).collect();
        assert!(!escaped(&all).contains(is_unprintable));
    }
}
