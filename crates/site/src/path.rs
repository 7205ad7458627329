//! The conversion of a request's path to a name below the document root, and back.
//!
//! A path is decoded once, then `//`, `.` and `..` are resolved, in this order, as in nginx: the name that is looked up
//! contains none of them.

use std::borrow::Cow;

/// Returns the clean path: percent-encoding, `//`, `.` and `..` are resolved. It starts with a slash, and ends with one if
/// the request names a directory. `None` if the path is malformed, contains a NUL, or leads above the root.
pub(crate) fn clean(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    match is_clean(path) {
        true => Some(path.into()),
        false => resolved(path).map(Cow::Owned),
    }
}

/// Returns whether there is nothing to decode or resolve. True for nearly every path, but not for all clean ones.
fn is_clean(path: &[u8]) -> bool {
    let is_odd = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    path.starts_with(b"/")
        && !path.iter().any(|byte| matches!(byte, b'%' | 0))
        && !path.windows(2).any(is_odd)
}

fn resolved(path: &[u8]) -> Option<Vec<u8>> {
    let raw = if path.is_empty() { b"/" } else { path };
    if raw[0] != b'/' {
        return None;
    }
    let decoded = decode(raw)?;
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut is_directory = false;
    for segment in decoded.split(|byte| *byte == b'/') {
        is_directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    let mut clean = Vec::with_capacity(decoded.len() + 1);
    for segment in segments {
        clean.push(b'/');
        clean.extend_from_slice(segment);
    }
    if is_directory || clean.is_empty() {
        clean.push(b'/');
    }
    Some(clean)
}

fn decode(raw: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let byte = if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            rest = after;
            hex(digits[0])? << 4 | hex(digits[1])?
        } else {
            byte
        };
        if byte == 0 {
            return None;
        }
        decoded.push(byte);
    }
    Some(decoded)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Encodes a clean path for a `Location` field.
pub(crate) fn encode(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for &byte in path {
        push(&mut text, byte, is_path_character(byte));
    }
    text
}

/// Percent-encodes the bytes of a query string that a header field must not contain.
pub(crate) fn encode_query(query: &[u8]) -> String {
    let mut text = String::with_capacity(query.len());
    for &byte in query {
        push(&mut text, byte, byte.is_ascii_graphic());
    }
    text
}

/// Encodes a value for a query string.
pub(crate) fn encode_value(value: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for &byte in value {
        let as_it_is = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        push(&mut text, byte, as_it_is);
    }
    text
}

fn push(text: &mut String, byte: u8, as_it_is: bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if as_it_is {
        text.push(char::from(byte));
    } else {
        text.push('%');
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Returns whether the byte is a slash or a `pchar` of RFC 3986.
fn is_path_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(path: &str) -> Option<String> {
        clean(path.as_bytes()).map(|path| String::from_utf8_lossy(&path).into_owned())
    }

    #[test]
    fn paths_are_decoded_and_resolved() {
        for (path, expected) in [
            ("", "/"),
            ("/", "/"),
            ("//", "/"),
            ("/a", "/a"),
            ("/a/", "/a/"),
            ("//a///b", "/a/b"),
            ("/./a/./b/.", "/a/b/"),
            ("/a/../b", "/b"),
            ("/a/b/..", "/a/"),
            ("/a/%2e%2e/b", "/b"),
            ("/a/..%2fb", "/b"),
            ("/a%2fb", "/a/b"),
            ("/a%20b%C3%A9", "/a bé"),
            ("/%252e%252e/a", "/%2e%2e/a"),
            ("/.../a", "/.../a"),
            ("/a;b=c", "/a;b=c"),
            ("/a\\..\\b", "/a\\..\\b"),
            ("/a+b", "/a+b"),
        ] {
            assert_eq!(cleaned(path).as_deref(), Some(expected), "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_looks_clean_is(path in "/?[a./%;]{0,12}") {
            if is_clean(path.as_bytes()) {
                assert_eq!(resolved(path.as_bytes()).as_deref(), Some(path.as_bytes()));
            }
        }
    }

    #[test]
    fn malformed_paths_are_none() {
        for path in [
            "*",
            "a",
            "/..",
            "/../a",
            "/a/../..",
            "/%2e%2e/a",
            "/..%2fa",
            "/%",
            "/%2",
            "/%zz",
            "/%+1",
            "/a%00",
            "/%00",
            "/a/%2e%2e%2f%2e%2e/b",
        ] {
            assert_eq!(cleaned(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_again() {
        let all: Vec<u8> = (1..=255).filter(|byte| *byte != b'/').collect();
        let path = [b"/".as_slice(), &all, b"/"].concat();
        assert_eq!(
            clean(encode(&path).as_bytes()).as_deref(),
            Some(path.as_slice())
        );
        assert_eq!(encode(b"/a b?#%"), "/a%20b%3F%23%25");
        assert_eq!(encode_query("a=b&c=%20é".as_bytes()), "a=b&c=%20%C3%A9");
    }
}
