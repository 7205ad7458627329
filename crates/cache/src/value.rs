//! The encoding of a plain value, and its conversion to text. C code writes and reads it (`php-sys/csrc/cache/encode.c`,
//! `decode.c`).
//!
//! The first byte is the type: 0 null, 1 false, 2 true, 3 an integer (8 bytes), 4 a float (8 bytes), 5 a string (its length
//! in 4 bytes, then its bytes), 6 a list (the number of its elements in 4 bytes, then the elements), 7 an array (like a
//! list, each element after its key, which is of type 3 or 5). All numbers are little-endian.

use std::fmt::Write;

use crate::entry::Encoding;

/// The deepest nesting of arrays; deeper ones are not written.
const DEPTH: usize = 512;

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        self.take(8)?.try_into().ok()
    }

    fn length(&mut self) -> Option<usize> {
        let bytes = self.take(4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    }

    fn value(&mut self, out: &mut String, depth: usize) -> Option<()> {
        match self.take(1)?[0] {
            0 => out.push_str("null"),
            1 => out.push_str("false"),
            2 => out.push_str("true"),
            3 => write!(out, "{}", i64::from_le_bytes(self.eight()?)).ok()?,
            4 => write!(out, "{:?}", f64::from_le_bytes(self.eight()?)).ok()?,
            5 => {
                let length = self.length()?;
                quote(self.take(length)?, out);
            }
            kind @ (6 | 7) if depth > 0 => self.elements(out, kind == 7, depth - 1)?,
            _ => return None,
        }
        Some(())
    }

    fn elements(&mut self, out: &mut String, has_keys: bool, depth: usize) -> Option<()> {
        out.push('[');
        for index in 0..self.length()? {
            if index > 0 {
                out.push_str(", ");
            }
            if has_keys {
                if !matches!(self.0.first(), Some(3 | 5)) {
                    return None;
                }
                self.value(out, 0)?;
                out.push_str(" => ");
            }
            self.value(out, depth)?;
        }
        out.push(']');
        Some(())
    }
}

fn quote(bytes: &[u8], out: &mut String) {
    let _ = write!(out, "{:?}", String::from_utf8_lossy(bytes));
}

/// Returns a value as text, close to PHP syntax; `None` if the bytes are not a value.
pub fn describe(encoding: Encoding, int: i64, bytes: &[u8]) -> Option<String> {
    let mut out = String::new();
    match encoding {
        Encoding::Int => write!(out, "{int}").ok()?,
        Encoding::Serialized => out = String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Plain => {
            let mut reader = Reader(bytes);
            reader.value(&mut out, DEPTH)?;
            if !reader.0.is_empty() {
                return None;
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_text() {
        let plain = |bytes: &[u8]| describe(Encoding::Plain, 0, bytes);
        assert_eq!(plain(&[0]).as_deref(), Some("null"));
        assert_eq!(
            plain(&[5, 2, 0, 0, 0, b'a', b'"']).as_deref(),
            Some(r#""a\"""#)
        );
        assert_eq!(
            plain(&[6, 2, 0, 0, 0, 1, 2]).as_deref(),
            Some("[false, true]")
        );
        let map = [
            7, 1, 0, 0, 0, 5, 1, 0, 0, 0, b'k', 4, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f,
        ];
        assert_eq!(plain(&map).as_deref(), Some(r#"["k" => 1.5]"#));
        assert_eq!(describe(Encoding::Int, -3, &[]).as_deref(), Some("-3"));
    }

    #[test]
    fn what_is_no_value() {
        for bytes in [
            &[][..],
            &[8],
            &[3, 1],
            &[5, 9, 0, 0, 0, 1],
            &[0, 0],
            &[7, 1, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(describe(Encoding::Plain, 0, bytes), None, "{bytes:?}");
        }
        let deep = [6, 1, 0, 0, 0].repeat(DEPTH + 1);
        assert_eq!(describe(Encoding::Plain, 0, &deep), None);
    }
}
