//! Header fields, in the order and spelling in which they came.
//!
//! One buffer holds all bytes, and one index their positions: a message has few fields, so a name is found by comparing it
//! with each, and the length alone excludes most. A [`NameSet`] tells of most absent names that they are absent.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

/// The fields of a message. Names are compared without regard to case.
#[derive(Clone, Default)]
pub struct Fields {
    bytes: Cow<'static, [u8]>,
    index: SmallVec<[Entry; FEW]>,
    /// All names that were ever added.
    names: NameSet,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        self.bytes == other.bytes && self.index == other.index
    }
}

impl Eq for Fields {}

/// The number of fields whose index needs no memory of its own. With fewer, the struct would be no smaller.
const FEW: usize = 1;

/// A set of names, as a Bloom filter of one hash: it may seem to have a name that it has not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameSet(u64);

impl NameSet {
    #[cfg(feature = "server")]
    #[must_use]
    pub(crate) const fn of<const N: usize>(names: [&str; N]) -> NameSet {
        let (mut set, mut i) = (NameSet(0), 0);
        while i < N {
            set = set.with(names[i].as_bytes());
            i += 1;
        }
        set
    }

    /// Adds a name, by its length and its first letter, without regard to case.
    #[inline]
    const fn with(self, name: &[u8]) -> NameSet {
        let first = match name {
            [first, ..] => *first | 0x20,
            [] => 0,
        };
        let hash = name.len() * 5 + first as usize;
        NameSet(self.0 | 1 << (hash % 64))
    }

    #[inline]
    const fn meets(self, other: NameSet) -> bool {
        self.0 & other.0 != 0
    }
}

/// A field of Hearth's own, `Name: value`, made at compile time.
#[derive(Debug, Clone, Copy)]
pub struct StaticHeader {
    line: &'static str,
    colon: usize,
}

impl StaticHeader {
    /// Makes a field of a line without its CR LF.
    #[must_use]
    pub const fn new(line: &'static str) -> StaticHeader {
        let bytes = line.as_bytes();
        let mut colon = 0;
        while bytes[colon] != b':' {
            colon += 1;
        }
        assert!(bytes[colon + 1] == b' ', "one space follows the colon");
        StaticHeader { line, colon }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        &self.line[..self.colon]
    }

    #[must_use]
    pub fn value(self) -> &'static str {
        &self.line[self.colon + 2..]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    name: Span,
    value: Span,
}

/// A range of bytes in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// Makes a span. The buffer is never larger than a head may be.
    pub(crate) fn new(start: usize, end: usize) -> Span {
        let small = |at| u32::try_from(at).expect("a head is smaller than 4 GiB");
        Span {
            start: small(start),
            end: small(end),
        }
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

/// A name or a value with characters that HTTP forbids there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a header field has characters that HTTP forbids")
    }
}

impl std::error::Error for Malformed {}

const fn is_in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Whether each byte may be in a token.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation, reason = "below 256")]
        let this = byte as u8;
        table[byte] = is_in_token(this);
        byte += 1;
    }
    table
};

pub(crate) fn is_token_byte(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// Returns whether the bytes are a token, such as a method or a field name (RFC 9110, section 5.6.2).
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

pub(crate) fn is_value(bytes: &[u8]) -> bool {
    // Without an early exit, several bytes are checked in one step.
    let is_bad = |byte: u8| (byte < b' ' && byte != b'\t') | (byte == 0x7f);
    !bytes.iter().fold(false, |bad, &byte| bad | is_bad(byte))
}

impl Fields {
    #[must_use]
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Makes empty fields with room for this number of fields and bytes.
    #[must_use]
    pub fn with_capacity(fields: usize, bytes: usize) -> Fields {
        Fields {
            bytes: Vec::with_capacity(bytes).into(),
            index: SmallVec::with_capacity(fields),
            names: NameSet::default(),
        }
    }

    /// Makes one field of Hearth's own, without a copy of its bytes.
    #[must_use]
    pub fn fixed(StaticHeader { line, colon }: StaticHeader) -> Fields {
        let mut fields = Fields {
            bytes: line.as_bytes().into(),
            index: SmallVec::new(),
            names: NameSet::default(),
        };
        fields.add_span(Span::new(0, colon), Span::new(colon + 2, line.len()));
        fields
    }

    /// Replaces the content by these bytes, in the same memory; the caller adds their fields to the index.
    pub(crate) fn refill(&mut self, bytes: &[u8], fields: usize) {
        self.index.clear();
        self.index.reserve(fields);
        self.names = NameSet::default();
        let own = self.bytes.to_mut();
        own.clear();
        own.extend_from_slice(bytes);
    }

    /// Returns the bytes that the buffer has allocated.
    pub(crate) fn capacity(&self) -> usize {
        match &self.bytes {
            Cow::Borrowed(_) => 0,
            Cow::Owned(bytes) => bytes.capacity(),
        }
    }

    #[inline]
    pub(crate) fn add_span(&mut self, name: Span, value: Span) {
        self.names = self.names.with(name.of(&self.bytes));
        self.index.push(Entry { name, value });
    }

    /// Returns whether a field may have one of these names; false is certain.
    #[inline]
    #[must_use]
    pub(crate) fn may_have(&self, names: NameSet) -> bool {
        self.names.meets(names)
    }

    /// Returns the positions of names and values.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (Span, Span)> {
        self.index.iter().map(|entry| (entry.name, entry.value))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends bytes that belong to no field.
    pub(crate) fn append_bytes(&mut self, bytes: &[u8]) -> Span {
        let own = self.bytes.to_mut();
        let start = own.len();
        own.extend_from_slice(bytes);
        Span::new(start, own.len())
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns names and values, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.index
            .iter()
            .map(|entry| (entry.name.of(&self.bytes), entry.value.of(&self.bytes)))
    }

    fn is_named(&self, entry: &Entry, name: &[u8]) -> bool {
        let span = entry.name;
        (span.end - span.start) as usize == name.len()
            && span.of(&self.bytes).eq_ignore_ascii_case(name)
    }

    /// Returns the first value of this name.
    #[inline]
    #[must_use]
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        if !self.may_have(NameSet::default().with(name)) {
            return None;
        }
        let entry = self.index.iter().find(|entry| self.is_named(entry, name))?;
        Some(entry.value.of(&self.bytes))
    }

    /// Returns all values of this name.
    pub fn get_all<'a>(
        &'a self,
        name: &(impl AsRef<[u8]> + ?Sized),
    ) -> impl Iterator<Item = &'a [u8]> {
        let name = name.as_ref();
        self.index
            .iter()
            .filter(move |entry| self.is_named(entry, name))
            .map(|entry| entry.value.of(&self.bytes))
    }

    #[must_use]
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.get(name).is_some()
    }

    /// Returns the first value of this name, if it is UTF-8.
    #[must_use]
    pub fn text(&self, name: impl AsRef<[u8]>) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// Returns whether `token` is in the comma-separated lists of this name's values.
    #[must_use]
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.get_all(name).any(|value| has_token(value, token))
    }

    /// Adds a field. Neither name nor value may come from outside: see [`Fields::try_push`].
    pub fn push(&mut self, name: &str, value: impl AsRef<[u8]>) {
        let (name, value) = (name.as_bytes(), value.as_ref());
        debug_assert!(is_token(name) && is_value(value), "a field of our own");
        self.add(name, value);
    }

    /// Adds a field.
    ///
    /// # Errors
    /// If name or value has characters that HTTP forbids there; nothing is added then.
    pub fn try_push(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if !is_token(name) || !is_value(value) {
            return Err(Malformed);
        }
        self.add(name, value);
        Ok(())
    }

    /// Adds a field. Its bytes in the buffer are those of a line of a message.
    fn add(&mut self, name: &[u8], value: &[u8]) {
        let own = self.bytes.to_mut();
        let start = own.len();
        let colon = start + name.len();
        own.reserve(name.len() + 2 + value.len());
        own.extend_from_slice(name);
        own.extend_from_slice(b": ");
        own.extend_from_slice(value);
        let value = Span::new(colon + 2, own.len());
        self.add_span(Span::new(start, colon), value);
    }

    /// Replaces all fields of this name by one. As with [`Fields::push`], nothing may come from outside.
    pub fn set(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.remove(name);
        self.push(name, value);
    }

    /// Removes all fields of this name; returns whether there were any.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> bool {
        let before = self.index.len();
        let (bytes, name) = (&self.bytes, name.as_ref());
        self.index
            .retain(|entry| !entry.name.of(bytes).eq_ignore_ascii_case(name));
        self.index.len() < before
    }

    /// Keeps only the fields for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        let bytes = &self.bytes;
        self.index
            .retain(|entry| keep(entry.name.of(bytes), entry.value.of(bytes)));
    }

    /// Appends the fields as lines of a message, without the empty line at the end.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write_some(out, |_, _| true);
    }

    /// Appends the fields for which `keep` returns true.
    pub(crate) fn write_some(&self, out: &mut Vec<u8>, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        for entry in &self.index {
            let (name, value) = (entry.name.of(&self.bytes), entry.value.of(&self.bytes));
            if !keep(name, value) {
                continue;
            }
            let between = Span {
                start: entry.name.end,
                end: entry.value.start.max(entry.name.end),
            };
            if between.of(&self.bytes) == b": " {
                let line = Span {
                    start: entry.name.start,
                    end: entry.value.end,
                };
                out.extend_from_slice(line.of(&self.bytes));
            } else {
                out.extend_from_slice(name);
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
            }
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Returns whether `token` is in this comma-separated list.
pub(crate) fn has_token(list: &[u8], token: &str) -> bool {
    list.split(|byte| *byte == b',')
        .any(|one| one.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        f.debug_list()
            .entries(self.iter().map(|(name, value)| (text(name), text(value))))
            .finish()
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Fields {
    /// Leaves out fields with characters that HTTP forbids.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Fields {
        let mut all = Fields::new();
        for (name, value) in fields {
            let _ = all.try_push(name.as_ref(), value.as_ref());
        }
        all
    }
}

#[cfg(test)]
mod tests;
