//! Decodes request bodies: of a known length, or in chunks (RFC 9112, section 7.1).
//!
//! Chunk extensions and trailers are skipped. Only CR LF ends a line: accepting a lone LF here would allow request
//! smuggling.

use std::ops::Range;

use crate::fields::is_token_byte;
use crate::framing::Length;

/// The part of a body that is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoder {
    Length(u64),
    Chunked(Chunked),
    Done,
    /// The body is malformed, or was cut off.
    Broken,
}

/// The position in the grammar of a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunked {
    state: State,
    /// The chunk's size as far as it was read, then the bytes of the chunk that are still to come.
    left: u64,
    /// Bytes of extensions and trailers so far, of all chunks.
    read_over: u32,
    /// Digits of the chunk's size so far.
    digits: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first digit.
    Start,
    Size,
    /// White space behind the size.
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a line of the trailer.
    Line,
    Name,
    Value,
    TrailerLf,
    EndLf,
}

/// The most bytes of extensions and trailers in one body.
const MOST_READ_OVER: u32 = 16 * 1024;
/// The most digits of a chunk's size, with leading zeros.
const MOST_DIGITS: u8 = 32;

/// The result of [`Decoder::decode`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of the input that were consumed.
    pub(crate) taken: usize,
    /// The range of these bytes that belongs to the body.
    pub(crate) data: Range<usize>,
}

/// The bytes are no chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkError;

impl Decoder {
    pub(crate) fn new(length: Length) -> Decoder {
        match length {
            Length::Known(0) => Decoder::Done,
            Length::Known(length) => Decoder::Length(length),
            Length::Chunked => Decoder::Chunked(Chunked {
                state: State::Start,
                left: 0,
                read_over: 0,
                digits: 0,
            }),
        }
    }

    /// Returns the bytes that are known to come: of the whole body, or of the current chunk.
    pub(crate) fn announced(&self) -> u64 {
        match self {
            Decoder::Length(left) => *left,
            Decoder::Chunked(chunked) if chunked.state == State::Data => chunked.left,
            _ => 0,
        }
    }

    /// Consumes `input` up to the end of the first piece of the body in it.
    pub(crate) fn decode(&mut self, input: &[u8]) -> Result<Found, ChunkError> {
        match self {
            Decoder::Length(left) => {
                let count = input
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= count as u64;
                if *left == 0 {
                    *self = Decoder::Done;
                }
                Ok(Found {
                    taken: count,
                    data: 0..count,
                })
            }
            Decoder::Chunked(chunked) => match chunked.decode(input) {
                Ok((found, is_end)) => {
                    if is_end {
                        *self = Decoder::Done;
                    }
                    Ok(found)
                }
                Err(bad) => {
                    *self = Decoder::Broken;
                    Err(bad)
                }
            },
            Decoder::Done => Ok(Found {
                taken: 0,
                data: 0..0,
            }),
            Decoder::Broken => Err(ChunkError),
        }
    }
}

impl Chunked {
    /// As [`Decoder::decode`]; also returns whether the body has ended.
    fn decode(&mut self, input: &[u8]) -> Result<(Found, bool), ChunkError> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if self.state == State::Data {
                let rest = input.len() - at;
                let count = rest.min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= count as u64;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                let data = at..at + count;
                return Ok((
                    Found {
                        taken: data.end,
                        data,
                    },
                    false,
                ));
            }
            at += 1;
            if self.step(byte)? {
                return Ok((
                    Found {
                        taken: at,
                        data: 0..0,
                    },
                    true,
                ));
            }
        }
        Ok((
            Found {
                taken: at,
                data: 0..0,
            },
            false,
        ))
    }

    /// Consumes a byte of the framing; returns true at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool, ChunkError> {
        self.state = match (self.state, byte) {
            (State::Start | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digit(byte)?;
                State::Size
            }
            (State::Size | State::Space, b' ' | b'\t') => self.over(State::Space)?,
            (State::Size | State::Space, b';') => State::Extension,
            (State::Size | State::Space | State::Extension, b'\r') => State::SizeLf,
            (State::Extension, b'\t' | b' '..=b'~' | 0x80..) => self.over(State::Extension)?,
            (State::SizeLf, b'\n') if self.left == 0 => State::Line,
            (State::SizeLf, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => {
                self.digits = 0;
                State::Start
            }
            (State::Line, b'\r') => State::EndLf,
            (State::Value, b'\r') => State::TrailerLf,
            (State::TrailerLf, b'\n') => State::Line,
            (State::Line | State::Name, byte) if is_token_byte(byte) => self.over(State::Name)?,
            (State::Name, b':') => State::Value,
            (State::Value, b'\t' | b' '..=b'~' | 0x80..) => self.over(State::Value)?,
            (State::EndLf, b'\n') => return Ok(true),
            _ => return Err(ChunkError),
        };
        Ok(false)
    }

    fn digit(&mut self, byte: u8) -> Result<(), ChunkError> {
        let digit = char::from(byte).to_digit(16).ok_or(ChunkError)?;
        let size = self.left.checked_mul(16).ok_or(ChunkError)?;
        self.left = size.checked_add(u64::from(digit)).ok_or(ChunkError)?;
        // Leading zeros are limited too, because they have no use.
        self.digits += 1;
        if self.digits > MOST_DIGITS {
            return Err(ChunkError);
        }
        Ok(())
    }

    fn over(&mut self, next: State) -> Result<State, ChunkError> {
        self.read_over += 1;
        if self.read_over > MOST_READ_OVER {
            return Err(ChunkError);
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the body, and the bytes behind it; the input is decoded in pieces of `size` bytes.
    fn decode(input: &[u8], size: usize) -> Result<(Vec<u8>, Vec<u8>), ChunkError> {
        let mut decoder = Decoder::new(Length::Chunked);
        let mut body = Vec::new();
        let mut at = 0;
        for piece in input.chunks(size) {
            let mut from = 0;
            while from < piece.len() && decoder != Decoder::Done {
                let found = decoder.decode(&piece[from..])?;
                body.extend_from_slice(&piece[from..][found.data]);
                from += found.taken;
            }
            at += from;
        }
        if decoder == Decoder::Done {
            Ok((body, input[at..].to_vec()))
        } else {
            Err(ChunkError)
        }
    }

    #[test]
    fn chunks_in_pieces_of_any_size() {
        let input = b"3\r\nabc\r\n0A ; x=\"y\";z\r\n0123456789\r\n1;\xff\r\n\n\r\n000\r\nT: v\r\nU:\r\n\r\nnext";
        for size in 1..=input.len() {
            assert_eq!(
                decode(input, size),
                Ok((b"abc0123456789\n".to_vec(), b"next".to_vec())),
                "{size}"
            );
        }
    }

    #[test]
    fn there_may_be_any_number_of_chunks() {
        let input = [&b"1\r\na\r\n".repeat(100_000)[..], b"0\r\n\r\n"].concat();
        let (body, _) = decode(&input, 1 << 16).expect("a body");
        assert_eq!(body.len(), 100_000);
    }

    #[test]
    fn malformed_chunks() {
        let long = format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(17_000));
        let zeros = format!("{}1\r\na\r\n0\r\n\r\n", "0".repeat(32));
        for input in [
            "\r\n",
            "g\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\n",
            "1\n",
            "1\n\r\n",
            "1\r\r\n",
            "1\r\nab\r\n",
            "1\r\na\n0\r\n\r\n",
            "1\r\na0\r\n\r\n",
            "1;a\nb\r\na\r\n",
            "1;a\0\r\n",
            "1 1\r\n",
            "0\r\n\n",
            "0\r\nT: v\n\r\n",
            "0\r\n\0\r\n\r\n",
            "0\r\nno colon\r\n\r\n",
            "0\r\n folded: v\r\n\r\n",
            "fffffffffffffffff\r\n",
            ";\r\n",
            &long,
            &zeros,
        ] {
            assert_eq!(decode(input.as_bytes(), 1), Err(ChunkError), "{input:.40}");
            assert_eq!(
                decode(input.as_bytes(), 1 << 20),
                Err(ChunkError),
                "{input:.40}"
            );
        }
    }

    #[test]
    fn a_known_length_takes_no_more() {
        let mut decoder = Decoder::new(Length::Known(5));
        assert_eq!(
            decoder.decode(b"abc"),
            Ok(Found {
                taken: 3,
                data: 0..3
            })
        );
        assert_eq!(
            decoder.decode(b"defgh"),
            Ok(Found {
                taken: 2,
                data: 0..2
            })
        );
        assert_eq!(decoder, Decoder::Done);
        assert_eq!(Decoder::new(Length::Known(0)), Decoder::Done);
    }
}
