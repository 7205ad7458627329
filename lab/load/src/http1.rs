//! Parser of HTTP/1 responses without I/O: bytes in, framing and counts out.
//!
//! The body is counted and kept only as far as [`Keep`] asks. Servers repeat their heads byte for byte (the date changes
//! once a second), so a head equal to the last one is not parsed again.

use httparse::{EMPTY_HEADER, Status};

/// Longest response head accepted.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// The part of a response head that determines how the following bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Length of the head in bytes.
    pub len: usize,
    /// Status code.
    pub status: u16,
    /// How the end of the body is found.
    pub framing: Framing,
    /// True if the connection may be used again.
    pub keep_alive: bool,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After this number of body bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// When the server closes the connection.
    UntilClose,
}

/// The reason why the bytes are not a valid response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad(pub String);

/// Parses a head at the beginning of `bytes`; `None` if it is not complete.
pub fn parse_head(bytes: &[u8]) -> Result<Option<Head>, Bad> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(Status::Complete(len)) => head_of(&response, len).map(Some),
        Ok(Status::Partial) if bytes.len() > MAX_HEAD => {
            Err(Bad("response head longer than 64 kB".into()))
        }
        Ok(Status::Partial) => Ok(None),
        Err(error) => Err(Bad(format!("not an HTTP response: {error}"))),
    }
}

fn head_of(response: &httparse::Response<'_, '_>, len: usize) -> Result<Head, Bad> {
    let status = response.code.unwrap_or(0);
    let mut keep_alive = response.version == Some(1);
    let (mut length, mut chunked) = (None, false);
    for header in response.headers.iter() {
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                length = Some(content_length(header.value, length)?);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                chunked = contains(header.value, "chunked");
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                keep_alive = connection(header.value, keep_alive);
            }
            _ => {}
        }
    }
    let framing = match (chunked, length) {
        (true, _) => Framing::Chunked,
        (false, Some(bytes)) => Framing::Length(bytes),
        (false, None) => Framing::UntilClose,
    };
    Ok(Head {
        len,
        status,
        framing,
        keep_alive,
    })
}

fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, Bad> {
    let text = std::str::from_utf8(value).unwrap_or("?").trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let length = if digits { text.parse().ok() } else { None };
    match (length, before) {
        (Some(length), None) => Ok(length),
        (Some(length), Some(other)) if length == other => Ok(length),
        _ => Err(Bad(format!("invalid Content-Length: {text}"))),
    }
}

fn contains(value: &[u8], word: &str) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| {
        text.split(',')
            .any(|part| part.trim().eq_ignore_ascii_case(word))
    })
}

fn connection(value: &[u8], default: bool) -> bool {
    (default || contains(value, "keep-alive")) && !contains(value, "close")
}

/// The last head and its bytes, so that a repetition costs one comparison.
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    head: Option<Head>,
}

impl HeadCache {
    #[inline]
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<Head>, Bad> {
        if let Some(head) = self.head
            && bytes.starts_with(&self.bytes)
        {
            return Ok(Some(head));
        }
        let head = parse_head(bytes)?;
        if let Some(head) = head {
            self.bytes.clear();
            self.bytes.extend_from_slice(&bytes[..head.len]);
            self.head = Some(head);
        }
        Ok(head)
    }
}

/// The part of a response that a reader expects next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Head,
    Length(u64),
    Chunk(ChunkState),
    UntilClose,
}

/// The part of a chunked body that a reader expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    /// The size line: the size so far and its number of digits.
    Size(u64, u8),
    /// The rest of the size line (chunk extensions).
    Extension(u64),
    /// Data; the number of bytes to come.
    Data(u64),
    /// The line end after the data.
    DataEnd,
    /// A trailer line: its length so far.
    Trailer(usize),
}

/// The progress of a reader after the bytes that it was fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The response needs more bytes.
    More,
    /// The response ended after this many of the bytes given.
    Done(usize),
}

/// An incremental reader of one response after another.
#[derive(Debug, Default)]
pub struct Reader {
    stage: Stage,
    pending: Vec<u8>,
    /// Status of the response.
    pub status: u16,
    /// Whether the connection may be used afterwards.
    pub keep_alive: bool,
    /// Bytes of the response's heads, interim ones included.
    pub head_bytes: u64,
    /// Bytes of the response's body so far.
    pub body_bytes: u64,
    /// The body, as far as [`Keep`] asks for it.
    pub body: Vec<u8>,
    /// The head, if [`Keep`] asks for it.
    pub head: Vec<u8>,
}

/// The parts of a response to keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// Bytes of a body to keep.
    pub body: usize,
    /// Bytes of an error response's body to keep.
    pub error_body: usize,
    /// Whether to keep the head.
    pub head: bool,
}

impl Reader {
    /// Prepares for the next response.
    #[inline]
    pub fn reset(&mut self) {
        self.stage = Stage::Head;
        self.pending.clear();
        self.body.clear();
        self.head.clear();
        self.status = 0;
        self.head_bytes = 0;
        self.body_bytes = 0;
        self.keep_alive = false;
    }

    /// Returns whether no byte of the response has arrived yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.stage == Stage::Head && self.pending.is_empty() && self.head_bytes == 0
    }

    /// Returns whether the response ends with the connection.
    pub(crate) fn ends_at_close(&self) -> bool {
        self.stage == Stage::UntilClose
    }

    /// Reads the next bytes. `bodiless`: the request was HEAD.
    pub fn feed(
        &mut self,
        data: &[u8],
        bodiless: bool,
        keep: Keep,
        cache: &mut HeadCache,
    ) -> Result<Progress, Bad> {
        let mut used = 0;
        if self.stage == Stage::Head {
            match self.feed_head(data, bodiless, keep, cache)? {
                Some(consumed) => used = consumed,
                None => return Ok(Progress::More),
            }
        }
        let rest = &data[used..];
        let wanted = if self.status >= 400 {
            keep.body.max(keep.error_body)
        } else {
            keep.body
        };
        match self.stage {
            Stage::Length(left) => {
                let take = left.min(rest.len() as u64);
                self.take_body(&rest[..take as usize], wanted);
                self.stage = Stage::Length(left - take);
                Ok(if take == left {
                    Progress::Done(used + take as usize)
                } else {
                    Progress::More
                })
            }
            Stage::Chunk(_) => Ok(match self.feed_chunks(rest, wanted)? {
                Progress::Done(more) => Progress::Done(used + more),
                Progress::More => Progress::More,
            }),
            Stage::UntilClose => {
                self.take_body(rest, wanted);
                Ok(Progress::More)
            }
            Stage::Head => Ok(Progress::More),
        }
    }

    /// Consumes heads (interim 1xx ones too); returns how many bytes of `data` they took, or `None` if they are
    /// incomplete.
    fn feed_head(
        &mut self,
        data: &[u8],
        bodiless: bool,
        keep: Keep,
        cache: &mut HeadCache,
    ) -> Result<Option<usize>, Bad> {
        let before = self.pending.len();
        if before > 0 {
            self.pending.extend_from_slice(data);
        }
        let joined = std::mem::take(&mut self.pending);
        let bytes = if before > 0 { joined.as_slice() } else { data };
        let mut at = 0;
        loop {
            let Some(head) = cache.parse(&bytes[at..])? else {
                self.pending = bytes[at..].to_vec();
                return Ok(None);
            };
            at += head.len;
            self.head_bytes += head.len as u64;
            if (100..200).contains(&head.status) && head.status != 101 {
                continue;
            }
            if keep.head {
                self.head.extend_from_slice(&bytes[at - head.len..at]);
            }
            self.start_body(head, bodiless);
            break;
        }
        self.pending = joined;
        self.pending.clear();
        Ok(Some(at - before))
    }

    #[inline]
    fn start_body(&mut self, head: Head, bodiless: bool) {
        self.status = head.status;
        self.keep_alive = head.keep_alive;
        let none = bodiless || head.status == 204 || head.status == 304;
        self.stage = match head.framing {
            _ if none => Stage::Length(0),
            Framing::Length(bytes) => Stage::Length(bytes),
            Framing::Chunked => Stage::Chunk(ChunkState::Size(0, 0)),
            Framing::UntilClose => {
                self.keep_alive = false;
                Stage::UntilClose
            }
        };
    }

    #[inline]
    fn take_body(&mut self, bytes: &[u8], wanted: usize) {
        self.body_bytes += bytes.len() as u64;
        if wanted > self.body.len() {
            let room = wanted - self.body.len();
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn feed_chunks(&mut self, data: &[u8], wanted: usize) -> Result<Progress, Bad> {
        let mut at = 0;
        while at < data.len() {
            let Stage::Chunk(state) = self.stage else {
                break;
            };
            let next = if let ChunkState::Data(left) = state {
                let take = left.min((data.len() - at) as u64);
                self.take_body(&data[at..at + take as usize], wanted);
                at += take as usize;
                if take == left {
                    ChunkState::DataEnd
                } else {
                    ChunkState::Data(left - take)
                }
            } else {
                at += 1;
                match chunk_step(state, data[at - 1])? {
                    Some(next) => next,
                    None => return Ok(Progress::Done(at)),
                }
            };
            self.stage = Stage::Chunk(next);
        }
        Ok(Progress::More)
    }
}

/// Advances the chunk framing by one byte; returns `None` after the last.
fn chunk_step(state: ChunkState, byte: u8) -> Result<Option<ChunkState>, Bad> {
    let bad = |what: &str| Err(Bad(format!("invalid chunk: {what} 0x{byte:02x}")));
    Ok(Some(match (state, byte) {
        (ChunkState::Size(size, digits), _) if byte.is_ascii_hexdigit() => {
            if digits >= 16 {
                return bad("size too long at");
            }
            let digit = (byte as char).to_digit(16).unwrap_or(0);
            ChunkState::Size(size * 16 + u64::from(digit), digits + 1)
        }
        (ChunkState::Size(_, 0), _) => return bad("expected a size, got"),
        (ChunkState::Size(size, _) | ChunkState::Extension(size), b'\n') => {
            if size == 0 {
                ChunkState::Trailer(0)
            } else {
                ChunkState::Data(size)
            }
        }
        (ChunkState::Size(size, _), b'\r' | b';' | b' ' | b'\t')
        | (ChunkState::Extension(size), _) => ChunkState::Extension(size),
        (ChunkState::Size(..), _) => return bad("unexpected byte in size"),
        (ChunkState::DataEnd, b'\r') => ChunkState::DataEnd,
        (ChunkState::DataEnd, b'\n') => ChunkState::Size(0, 0),
        (ChunkState::DataEnd, _) => return bad("expected a line end after the data, got"),
        (ChunkState::Trailer(0), b'\n') => return Ok(None),
        (ChunkState::Trailer(_), b'\n') => ChunkState::Trailer(0),
        (ChunkState::Trailer(length), b'\r') => ChunkState::Trailer(length),
        (ChunkState::Trailer(length), _) => ChunkState::Trailer(length + 1),
        (ChunkState::Data(left), _) => ChunkState::Data(left),
    }))
}

#[cfg(test)]
mod tests;
