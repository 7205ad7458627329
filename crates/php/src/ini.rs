//! php.ini settings of the command line, written as the `php` command writes them.
//!
//! A value is an expression of php.ini, such as `E_ALL & ~E_NOTICE`, `UTC;` or `${HOME}/tmp`: PHP's own parser reads it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Splits `NAME=VALUE`; a name alone means 1, as for `php -d`.
pub fn ini_setting(word: &OsStr) -> (OsString, OsString) {
    let word = word.as_bytes();
    let (name, value) = match word.iter().position(|&byte| byte == b'=') {
        Some(at) => (&word[..at], &word[at + 1..]),
        None => (word, &b"1"[..]),
    };
    let owned = |bytes| OsStr::from_bytes(bytes).to_owned();
    (owned(name), owned(value))
}

/// Returns why a setting is refused: a line break in it would begin another setting. A value within one pair of quotes may
/// have several lines.
pub fn ini_mistake(name: &OsStr, value: &OsStr) -> Option<String> {
    let breaks = |text: &OsStr| text.as_bytes().iter().any(|byte| b"\n\r\0".contains(byte));
    let alone = !breaks(name) && (!breaks(value) || is_one_string(value.as_bytes()));
    (!alone).then(|| {
        format!(
            "the setting {:?} has more than one line; put the value in quotes",
            name.display().to_string()
        )
    })
}

/// Whether PHP's parser reads the value as one string.
fn is_one_string(value: &[u8]) -> bool {
    if value.contains(&0) {
        return false;
    }
    match value {
        [quote @ (b'"' | b'\''), inner @ .., last] => {
            let escaped = *quote == b'"' && ends_in_escape(inner);
            quote == last && !escaped && !has_open(inner, *quote)
        }
        _ => is_quoted_by_us(value) && !has_open(value, b'"') && !ends_in_escape(value),
    }
}

/// Whether the text contains this quote, other than behind a backslash in a double-quoted text.
fn has_open(text: &[u8], quote: u8) -> bool {
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' if quote == b'"' => _ = bytes.next(),
            _ if byte == quote => return true,
            _ => {}
        }
    }
    false
}

fn ends_in_escape(text: &[u8]) -> bool {
    text.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// Whether `php_ini_builder_define()` of PHP would quote the value: it begins with no letter, digit or quote.
fn is_quoted_by_us(value: &[u8]) -> bool {
    value
        .first()
        .is_some_and(|first| !first.is_ascii_alphanumeric() && !b"\"'".contains(first))
}

/// Returns the line of a php.ini that sets `name`.
pub(crate) fn ini_line(name: &[u8], value: &[u8]) -> Vec<u8> {
    let quote: &[u8] = if is_quoted_by_us(value) { b"\"" } else { b"" };
    [name, b"=", quote, value, quote, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(word: &str) -> String {
        let (name, value) = ini_setting(OsStr::new(word));
        String::from_utf8(ini_line(name.as_bytes(), value.as_bytes())).unwrap()
    }

    fn is_refused(word: &str) -> bool {
        let (name, value) = ini_setting(OsStr::new(word));
        ini_mistake(&name, &value).is_some()
    }

    #[test]
    fn expressions_stay_what_they_are() {
        assert_eq!(line("a=E_ALL & ~E_NOTICE"), "a=E_ALL & ~E_NOTICE\n");
        assert_eq!(line("a=UTC;"), "a=UTC;\n");
        assert_eq!(line("a=\"b;c\""), "a=\"b;c\"\n");
        assert_eq!(line("a="), "a=\n");
        assert_eq!(line("a"), "a=1\n");
    }

    #[test]
    fn what_begins_otherwise_is_quoted() {
        assert_eq!(line("a=/tmp;b"), "a=\"/tmp;b\"\n");
        assert_eq!(line("a=${HOME}"), "a=\"${HOME}\"\n");
        assert_eq!(line("a=<b>\"c\""), "a=\"<b>\"c\"\"\n");
    }

    #[test]
    fn a_line_break_begins_no_other_setting() {
        for word in [
            "a=1\nb=2",
            "a=1\rb=2",
            "a\nb=1",
            "a\n",
            "a=/x\"\nb=2\n;\"",
            "a=/x\nb\\",
            "a=\"x\"\nb=\"2\"",
            "a=\"x\nb=2\\\"",
            "a='x'\nb='2'",
            "a='x\nb=2",
            "a=\"",
        ] {
            assert_eq!(is_refused(word), word.contains(['\n', '\r']), "{word:?}");
        }
        for word in ["a=\"x\ny\"", "a='x\n\"y'", "a=/x\ny", "a=\"x\\\"\ny\""] {
            assert!(!is_refused(word), "{word:?}");
        }
    }
}
