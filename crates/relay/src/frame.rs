//! The format of requests and responses between front and worker.
//!
//! Heads, fields and addresses are as the crate `http1` packs them; numbers are little-endian. What does not fit in a slot
//! goes through a stream socket beside it: responses as bytes, requests as files.

/// A request as a worker receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFrame<'a> {
    pub id: u64,
    /// Whether a worker has died with this request.
    pub is_retry: bool,
    /// The addresses of the client and of the server.
    pub endpoints: &'a [u8],
    pub head: Payload<'a>,
    pub body: Payload<'a>,
}

/// The offset of the flags in a request frame, and the flag for `is_retry`.
const FLAGS: usize = 8;
const AGAIN: u8 = 1;

/// A part of a request: its head or its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    None,
    Here(&'a [u8]),
    /// The part is in a file of this length in bytes, which the front sends when the worker asks for it.
    File(u64),
}

impl Payload<'_> {
    fn tag(&self) -> (u8, u64) {
        match self {
            Payload::None => (0, 0),
            Payload::Here(bytes) => (1, bytes.len() as u64),
            Payload::File(length) => (2, *length),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Payload::Here(bytes) => bytes,
            Payload::None | Payload::File(_) => &[],
        }
    }
}

impl<'a> RequestFrame<'a> {
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.push(if self.is_retry { AGAIN } else { 0 });
        out.push(u8::try_from(self.endpoints.len()).expect("two addresses"));
        out.extend_from_slice(self.endpoints);
        for part in [&self.head, &self.body] {
            let (tag, length) = part.tag();
            out.push(tag);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(part.bytes());
        }
    }

    /// Marks the request in `bytes`, written by [`RequestFrame::write_to`], as a retry.
    pub fn mark_retry(bytes: &mut [u8]) {
        bytes[FLAGS] |= AGAIN;
    }

    /// Parses a request frame; `None` if it is invalid.
    pub fn parse(bytes: &'a [u8]) -> Option<RequestFrame<'a>> {
        let rest = &mut &*bytes;
        let id = u64::from_le_bytes(array(rest)?);
        let [flags, endpoints] = array(rest)?;
        Some(RequestFrame {
            id,
            is_retry: flags & AGAIN != 0,
            endpoints: take(rest, endpoints.into())?,
            head: part(rest)?,
            body: part(rest)?,
        })
    }
}

/// What a worker writes to the slot as response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseFrame<'a> {
    Head(ResponseHead<'a>, ResponsePayload<'a>),
    /// The head does not fit in the slot. All of the response comes through the stream, first this number of bytes of its
    /// `Head` frame.
    Long(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    pub status: u16,
    /// Whether the app wants the client's connection closed.
    pub closes: bool,
    /// The reason phrase; empty for the usual one.
    pub reason: &'a [u8],
    /// The header fields, packed.
    pub fields: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsePayload<'a> {
    Here(&'a [u8]),
    /// The body comes through the stream; its length in bytes, if that is known.
    Stream(Option<u64>),
}

impl<'a> ResponseFrame<'a> {
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let (head, body) = match self {
            ResponseFrame::Long(length) => {
                out.push(3);
                return out.extend_from_slice(&length.to_le_bytes());
            }
            ResponseFrame::Head(head, body) => (head, body),
        };
        let (tag, length) = match body {
            ResponsePayload::Here(bytes) => (0, bytes.len() as u64),
            ResponsePayload::Stream(Some(length)) => (1, *length),
            ResponsePayload::Stream(None) => (2, 0),
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
        if let ResponsePayload::Here(bytes) = body {
            out.extend_from_slice(bytes);
        }
    }

    /// Parses a response frame; `None` if it is invalid.
    pub fn parse(bytes: &'a [u8]) -> Option<ResponseFrame<'a>> {
        let rest = &mut &*bytes;
        let [tag] = array(rest)?;
        if tag == 3 {
            return Some(ResponseFrame::Long(u32::from_le_bytes(array(rest)?)));
        }
        let length = u64::from_le_bytes(array(rest)?);
        let status = u16::from_le_bytes(array(rest)?);
        let [closes] = array(rest)?;
        let head = ResponseHead {
            status,
            closes: closes != 0,
            reason: counted(rest)?,
            fields: counted(rest)?,
        };
        let body = match tag {
            0 => ResponsePayload::Here(take(rest, usize::try_from(length).ok()?)?),
            1 => ResponsePayload::Stream(Some(length)),
            2 => ResponsePayload::Stream(None),
            _ => return None,
        };
        Some(ResponseFrame::Head(head, body))
    }
}

/// Bytes of the header of each frame in a worker's stream: the number of the request, then how many bytes of its response
/// follow.
pub const STREAM_HEADER: usize = 8;

/// A frame of a worker's stream: a piece of a response, its end, or the demand for a request's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFrame {
    /// This number of bytes follow, one or more.
    Bytes(u32),
    End,
    /// The response broke off.
    Broken,
    /// Not a response: the worker asks for the files of the request ([`crate::send_files`]).
    Files,
}

impl StreamFrame {
    pub fn head(self, number: u32) -> [u8; STREAM_HEADER] {
        let length = match self {
            StreamFrame::Bytes(length) => length,
            StreamFrame::End => 0,
            StreamFrame::Broken => u32::MAX,
            StreamFrame::Files => u32::MAX - 1,
        };
        (u64::from(length) << 32 | u64::from(number)).to_le_bytes()
    }

    /// Parses a header: the request's number, and the frame.
    pub fn parse(head: [u8; STREAM_HEADER]) -> (u32, StreamFrame) {
        let head = u64::from_le_bytes(head);
        let piece = match (head >> 32) as u32 {
            0 => StreamFrame::End,
            u32::MAX => StreamFrame::Broken,
            0xffff_fffe => StreamFrame::Files,
            length => StreamFrame::Bytes(length),
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

fn part<'a>(rest: &mut &'a [u8]) -> Option<Payload<'a>> {
    let [tag] = array(rest)?;
    let length = u64::from_le_bytes(array(rest)?);
    Some(match tag {
        0 => Payload::None,
        1 => Payload::Here(take(rest, usize::try_from(length).ok()?)?),
        2 => Payload::File(length),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn a_part(tag: u8, bytes: &[u8]) -> Payload<'_> {
        match tag {
            0 => Payload::None,
            1 => Payload::Here(bytes),
            _ => Payload::File(bytes.len() as u64),
        }
    }

    proptest! {
        #[test]
        fn requests_come_back_as_they_went(
            (id, is_retry, endpoints, head, body) in any::<(u64, bool, [u8; 8], Vec<u8>, Vec<u8>)>(),
            (h, b) in (0u8..3, 0u8..3),
        ) {
            let frame = RequestFrame { id, is_retry, endpoints: &endpoints, head: a_part(h, &head), body: a_part(b, &body) };
            let mut out = Vec::new();
            frame.write_to(&mut out);
            prop_assert_eq!(RequestFrame::parse(&out), Some(frame));
            for end in 0..out.len() {
                prop_assert_eq!(RequestFrame::parse(&out[..end]), None);
            }
        }

        #[test]
        fn answers_come_back_as_they_went(
            (status, closes, reason, fields, body) in any::<(u16, bool, Vec<u8>, Vec<u8>, Vec<u8>)>(),
            kind in 0u8..3,
        ) {
            let head = ResponseHead { status, closes, reason: &reason, fields: &fields };
            let body = match kind {
                0 => ResponsePayload::Here(&body),
                1 => ResponsePayload::Stream(Some(body.len() as u64)),
                _ => ResponsePayload::Stream(None),
            };
            let answered = ResponseFrame::Head(head, body);
            let mut out = Vec::new();
            answered.write_to(&mut out);
            prop_assert_eq!(ResponseFrame::parse(&out), Some(answered));
            for end in 0..out.len() {
                prop_assert_eq!(ResponseFrame::parse(&out[..end]), None);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = (RequestFrame::parse(&bytes), ResponseFrame::parse(&bytes));
        }
    }

    #[test]
    fn pieces_and_long_heads() {
        for piece in [
            StreamFrame::Bytes(1),
            StreamFrame::Bytes(70_000),
            StreamFrame::End,
            StreamFrame::Broken,
            StreamFrame::Files,
        ] {
            assert_eq!(
                StreamFrame::parse(piece.head(u32::MAX - 1)),
                (u32::MAX - 1, piece)
            );
        }
        let mut out = Vec::new();
        ResponseFrame::Long(70_000).write_to(&mut out);
        assert_eq!(
            ResponseFrame::parse(&out),
            Some(ResponseFrame::Long(70_000))
        );
    }
}
