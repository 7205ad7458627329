//! The binary form of heads and fields, sent between processes of Hearth: the index with its buffer, so that the receiver
//! does not parse again.
//!
//! The reader checks only that each span lies in the buffer: other bytes give a wrong head, but never an access outside the
//! buffer.
//!
//! All numbers are little-endian words of 4 bytes. Fields: their count, the length of the buffer, the spans of each name and
//! value, the buffer. A head: flags, the spans of method, target and the target's parts, fields.

use crate::fields::{Fields, Span};
use crate::head::{RequestHead, Version};
use crate::target::Target;

const WORD: usize = 4;
/// Bytes of a packed span.
const SPAN: usize = 2 * WORD;
/// The number of spans in a head: method, target, resource, path, query, authority.
const SPANS: usize = 6;

const HTTP_10: u32 = 1;
const HAS_AUTHORITY: u32 = 2;

fn pack_spans<const N: usize>(spans: [Span; N], out: &mut Vec<u8>) {
    for span in spans {
        out.extend_from_slice(&span.start.to_le_bytes());
        out.extend_from_slice(&span.end.to_le_bytes());
    }
}

fn word(rest: &mut &[u8]) -> Option<u32> {
    let (word, left) = rest.split_first_chunk::<WORD>()?;
    *rest = left;
    Some(u32::from_le_bytes(*word))
}

/// Reads a span; `None` if it does not lie in a buffer of `length` bytes.
fn span(rest: &mut &[u8], length: usize) -> Option<Span> {
    let (start, end) = (word(rest)?, word(rest)?);
    (start <= end && end as usize <= length).then_some(Span { start, end })
}

impl Fields {
    /// Appends the packed form, for [`Fields::unpack`].
    pub fn pack(&self, out: &mut Vec<u8>) {
        let (count, bytes) = (self.len(), self.bytes());
        out.reserve(2 * WORD + count * 2 * SPAN + bytes.len());
        let small = |n| u32::try_from(n).expect("a head is smaller than 4 GiB");
        out.extend_from_slice(&small(count).to_le_bytes());
        out.extend_from_slice(&small(bytes.len()).to_le_bytes());
        for (name, value) in self.spans() {
            pack_spans([name, value], out);
        }
        out.extend_from_slice(bytes);
    }

    /// Returns `None` if `packed` is not the packed form of fields.
    #[must_use]
    pub fn unpack(packed: &[u8]) -> Option<Fields> {
        let mut fields = Fields::new();
        fields.read(&mut &*packed)?;
        Some(fields)
    }

    /// Replaces the content with packed fields, in the same memory.
    fn read(&mut self, rest: &mut &[u8]) -> Option<()> {
        let (count, length) = (word(rest)? as usize, word(rest)? as usize);
        let (mut index, left) = rest.split_at_checked(count.checked_mul(2 * SPAN)?)?;
        let (bytes, left) = left.split_at_checked(length)?;
        *rest = left;
        self.refill(bytes, count);
        while !index.is_empty() {
            let (name, value) = (span(&mut index, length)?, span(&mut index, length)?);
            self.add_span(name, value);
        }
        Some(())
    }
}

impl RequestHead {
    /// Appends the packed form, for [`RequestHead::unpack`].
    pub fn pack(&self, out: &mut Vec<u8>) {
        let Target {
            resource,
            path,
            query,
            authority,
        } = self.parts;
        let mut flags = match self.version {
            Version::Http10 => HTTP_10,
            Version::Http11 => 0,
        };
        if authority.is_some() {
            flags |= HAS_AUTHORITY;
        }
        out.extend_from_slice(&flags.to_le_bytes());
        let authority = authority.unwrap_or_default();
        let spans: [Span; SPANS] = [self.method, self.target, resource, path, query, authority];
        pack_spans(spans, out);
        self.fields.pack(out);
    }

    /// Returns `None` if `packed` is not the packed form of a head.
    #[must_use]
    pub fn unpack(packed: &[u8]) -> Option<RequestHead> {
        let rest = &mut &*packed;
        let flags = word(rest)?;
        let (mut spans, left) = rest.split_at_checked(SPANS * SPAN)?;
        *rest = left;
        let mut head = RequestHead::empty();
        head.fields.read(rest)?;
        let length = head.fields.bytes().len();
        let mut next = || span(&mut spans, length);
        let (method, target) = (next()?, next()?);
        let (resource, path, query, authority) = (next()?, next()?, next()?, next()?);
        let authority = (flags & HAS_AUTHORITY != 0).then_some(authority);
        (head.method, head.target) = (method, target);
        head.parts = Target {
            resource,
            path,
            query,
            authority,
        };
        head.version = match flags & HTTP_10 {
            0 => Version::Http11,
            _ => Version::Http10,
        };
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn parsed(text: &str) -> RequestHead {
        let parsed = RequestHead::parse(text.as_bytes(), Limits::default());
        parsed.expect("a head").expect("all of it").0
    }

    fn packed(head: &RequestHead) -> Vec<u8> {
        let mut bytes = Vec::new();
        head.pack(&mut bytes);
        bytes
    }

    #[test]
    fn a_head_comes_back_as_it_went() {
        for text in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "POST http://u@b:8?c=d#e HTTP/1.1\r\nHost: a\r\nX: \r\nContent-Length:3\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n",
            "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            let head = parsed(text);
            let back = RequestHead::unpack(&packed(&head)).expect(text);
            assert_eq!(format!("{back:?}"), format!("{head:?}"));
            assert_eq!(back.version, head.version);
            let parts = |head: &RequestHead| {
                [head.resource(), head.path(), head.query()].map(<[u8]>::to_vec)
            };
            assert_eq!(parts(&back), parts(&head), "{text}");
            assert_eq!(back.authority(), head.authority(), "{text}");
        }
    }

    #[test]
    fn what_was_removed_or_added_is_so_on_the_other_side() {
        let mut head = parsed("GET / HTTP/1.1\r\nHost: a\r\nTE: x\r\nB: c\r\n\r\n");
        head.fields.remove("te");
        head.fields.push("Content-Length", "0");
        let back = RequestHead::unpack(&packed(&head)).expect("a head");
        assert_eq!(back.fields, head.fields);
        let fixed = Fields::fixed(crate::StaticHeader::new("Content-Type: text/plain"));
        let mut bytes = Vec::new();
        fixed.pack(&mut bytes);
        assert_eq!(Fields::unpack(&bytes), Some(fixed));
    }

    /// Every span is checked before it is used.
    #[test]
    fn what_is_cut_off_or_scribbled_on_is_no_head_or_a_wrong_one() {
        let whole = packed(&parsed(
            "GET http://a/b?c HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n",
        ));
        for end in 0..whole.len() {
            assert!(RequestHead::unpack(&whole[..end]).is_none(), "{end}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                if let Some(head) = RequestHead::unpack(&bytes) {
                    let _ = format!("{head:?} {:?}", head.authority());
                    let _ = (head.resource(), head.path(), head.query());
                }
            }
        }
    }
}
