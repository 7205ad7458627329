//! A request and its answer as bytes, on their way between front and worker, through the slots of the crate `relay`.
//!
//! The request's head is HTTP's own text, as the front lets it pass; numbers are little-endian. What does not fit in a
//! slot goes through a stream socket beside it: answers as bytes, requests as files.

/// A request, as a worker gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    pub id: u64,
    /// The client speaks HTTP/1.0, whatever the head says.
    pub is_http10: bool,
    /// A worker has died with it.
    pub is_again: bool,
    /// For [`crate::Ends::parse`].
    pub ends: &'a str,
    pub head: Part<'a>,
    pub body: Part<'a>,
}

/// Where the flags stand, and what they are.
const FLAGS: usize = 8;
const HTTP10: u8 = 1;
const AGAIN: u8 = 2;

/// A part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    None,
    Here(&'a [u8]),
    /// So many bytes of a file, which comes when it is asked for.
    File(u64),
}

impl Part<'_> {
    fn tag(&self) -> (u8, u64) {
        match self {
            Part::None => (0, 0),
            Part::Here(bytes) => (1, bytes.len() as u64),
            Part::File(length) => (2, *length),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Part::Here(bytes) => bytes,
            Part::None | Part::File(_) => &[],
        }
    }
}

impl<'a> Asked<'a> {
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        let http10 = if self.is_http10 { HTTP10 } else { 0 };
        let again = if self.is_again { AGAIN } else { 0 };
        out.push(http10 | again);
        out.push(u8::try_from(self.ends.len()).expect("two addresses"));
        out.extend_from_slice(self.ends.as_bytes());
        for part in [&self.head, &self.body] {
            let (tag, length) = part.tag();
            out.push(tag);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(part.bytes());
        }
    }

    /// The same request for a second worker: `bytes` are of [`Asked::write_to`].
    pub fn mark_again(bytes: &mut [u8]) {
        bytes[FLAGS] |= AGAIN;
    }

    /// `None` if a front did not write this.
    pub fn parse(bytes: &'a [u8]) -> Option<Asked<'a>> {
        let rest = &mut &*bytes;
        let id = u64::from_le_bytes(array(rest)?);
        let [flags, ends] = array(rest)?;
        Some(Asked {
            id,
            is_http10: flags & HTTP10 != 0,
            is_again: flags & AGAIN != 0,
            ends: std::str::from_utf8(take(rest, ends.into())?).ok()?,
            head: part(rest)?,
            body: part(rest)?,
        })
    }
}

/// What a worker puts in the slot for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered<'a> {
    Head(AnswerHead<'a>, AnswerBody<'a>),
    /// All of it comes through the stream: first so many bytes of this frame itself.
    Long(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerHead<'a> {
    pub status: u16,
    /// The app wants the client's connection closed.
    pub closes: bool,
    /// What stands behind the status; empty: what is usual there.
    pub reason: &'a [u8],
    /// For [`fields`], made by [`push_field`].
    pub fields: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerBody<'a> {
    Here(&'a [u8]),
    /// It comes through the stream; its length, if that is known.
    Stream(Option<u64>),
}

impl<'a> Answered<'a> {
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let (head, body) = match self {
            Answered::Long(length) => {
                out.push(3);
                return out.extend_from_slice(&length.to_le_bytes());
            }
            Answered::Head(head, body) => (head, body),
        };
        let (tag, length) = match body {
            AnswerBody::Here(bytes) => (0, bytes.len() as u64),
            AnswerBody::Stream(Some(length)) => (1, *length),
            AnswerBody::Stream(None) => (2, 0),
        };
        out.push(tag);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&head.status.to_le_bytes());
        out.push(u8::from(head.closes));
        for bytes in [head.reason, head.fields] {
            let length = u32::try_from(bytes.len()).expect("a head is smaller than 4 GiB");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        if let AnswerBody::Here(bytes) = body {
            out.extend_from_slice(bytes);
        }
    }

    /// `None` if a worker did not write this.
    pub fn parse(bytes: &'a [u8]) -> Option<Answered<'a>> {
        let rest = &mut &*bytes;
        let [tag] = array(rest)?;
        if tag == 3 {
            return Some(Answered::Long(u32::from_le_bytes(array(rest)?)));
        }
        let length = u64::from_le_bytes(array(rest)?);
        let status = u16::from_le_bytes(array(rest)?);
        let [closes] = array(rest)?;
        let head = AnswerHead {
            status,
            closes: closes != 0,
            reason: counted(rest)?,
            fields: counted(rest)?,
        };
        let body = match tag {
            0 => AnswerBody::Here(take(rest, usize::try_from(length).ok()?)?),
            1 => AnswerBody::Stream(Some(length)),
            2 => AnswerBody::Stream(None),
            _ => return None,
        };
        Some(Answered::Head(head, body))
    }
}

/// Append a header field to [`AnswerHead::fields`].
pub fn push_field(fields: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for bytes in [name, value] {
        let length = u32::try_from(bytes.len()).expect("a field is smaller than 4 GiB");
        fields.extend_from_slice(&length.to_le_bytes());
        fields.extend_from_slice(bytes);
    }
}

/// Names and values of [`AnswerHead::fields`].
pub fn fields(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || Some((counted(&mut rest)?, counted(&mut rest)?)))
}

/// What comes through a worker's stream: the number of the request, then how many bytes of its answer follow.
pub const PIECE_HEAD: usize = 8;

/// A piece of an answer's body, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// So many bytes, one or more.
    Bytes(u32),
    End,
    /// It broke off.
    Broken,
    /// No answer: the files of the request are wanted ([`crate::send_files`]).
    Files,
}

impl Piece {
    pub fn head(self, number: u32) -> [u8; PIECE_HEAD] {
        let length = match self {
            Piece::Bytes(length) => length,
            Piece::End => 0,
            Piece::Broken => u32::MAX,
            Piece::Files => u32::MAX - 1,
        };
        (u64::from(length) << 32 | u64::from(number)).to_le_bytes()
    }

    /// The request's number, and what comes of it.
    pub fn parse(head: [u8; PIECE_HEAD]) -> (u32, Piece) {
        let head = u64::from_le_bytes(head);
        let piece = match (head >> 32) as u32 {
            0 => Piece::End,
            u32::MAX => Piece::Broken,
            0xffff_fffe => Piece::Files,
            length => Piece::Bytes(length),
        };
        (head as u32, piece)
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take(rest, N)?.try_into().ok()
}

fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(array(rest)?);
    take(rest, length as usize)
}

fn part<'a>(rest: &mut &'a [u8]) -> Option<Part<'a>> {
    let [tag] = array(rest)?;
    let length = u64::from_le_bytes(array(rest)?);
    Some(match tag {
        0 => Part::None,
        1 => Part::Here(take(rest, usize::try_from(length).ok()?)?),
        2 => Part::File(length),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn a_part(tag: u8, bytes: &[u8]) -> Part<'_> {
        match tag {
            0 => Part::None,
            1 => Part::Here(bytes),
            _ => Part::File(bytes.len() as u64),
        }
    }

    proptest! {
        #[test]
        fn requests_come_back_as_they_went(
            (id, is_http10, is_again, ends, head, body) in any::<(u64, bool, bool, [u8; 8], Vec<u8>, Vec<u8>)>(),
            (h, b) in (0u8..3, 0u8..3),
        ) {
            let ends: String = ends.iter().map(|n| char::from(b'0' + n % 10)).collect();
            let asked = Asked { id, is_http10, is_again, ends: &ends, head: a_part(h, &head), body: a_part(b, &body) };
            let mut out = Vec::new();
            asked.write_to(&mut out);
            prop_assert_eq!(Asked::parse(&out), Some(asked));
            for end in 0..out.len() {
                prop_assert_eq!(Asked::parse(&out[..end]), None);
            }
        }

        #[test]
        fn answers_come_back_as_they_went(
            (status, closes, reason, pairs, body) in any::<(u16, bool, Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>, Vec<u8>)>(),
            kind in 0u8..3,
        ) {
            let mut bytes = Vec::new();
            pairs.iter().for_each(|(name, value)| push_field(&mut bytes, name, value));
            let got: Vec<_> = fields(&bytes).map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
            prop_assert_eq!(got, pairs);
            let head = AnswerHead { status, closes, reason: &reason, fields: &bytes };
            let body = match kind {
                0 => AnswerBody::Here(&body),
                1 => AnswerBody::Stream(Some(body.len() as u64)),
                _ => AnswerBody::Stream(None),
            };
            let answered = Answered::Head(head, body);
            let mut out = Vec::new();
            answered.write_to(&mut out);
            prop_assert_eq!(Answered::parse(&out), Some(answered));
            for end in 0..out.len() {
                prop_assert_eq!(Answered::parse(&out[..end]), None);
            }
        }

        #[test]
        fn nonsense_is_refused(bytes: Vec<u8>) {
            let _ = (Asked::parse(&bytes), Answered::parse(&bytes), fields(&bytes).count());
        }
    }

    #[test]
    fn pieces_and_long_heads() {
        for piece in [
            Piece::Bytes(1),
            Piece::Bytes(70_000),
            Piece::End,
            Piece::Broken,
            Piece::Files,
        ] {
            assert_eq!(
                Piece::parse(piece.head(u32::MAX - 1)),
                (u32::MAX - 1, piece)
            );
        }
        let mut out = Vec::new();
        Answered::Long(70_000).write_to(&mut out);
        assert_eq!(Answered::parse(&out), Some(Answered::Long(70_000)));
    }
}
