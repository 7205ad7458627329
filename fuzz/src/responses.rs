//! The load generator's reader of responses.

use load::http1::{HeadCache, Keep, Progress, Reader};

use crate::input::{Input, pieces};

/// Keeps everything, so that it can be compared.
const KEEP: Keep = Keep {
    body: usize::MAX,
    error_body: usize::MAX,
    head: true,
};

/// The result of reading one response.
#[derive(Debug, PartialEq)]
enum Read {
    Whole {
        status: u16,
        keep_alive: bool,
        head: Vec<u8>,
        body: Vec<u8>,
        /// The response's length in bytes.
        length: usize,
    },
    Unfinished {
        status: u16,
        body: Vec<u8>,
    },
    ChunkError,
}

/// Reads a response; the first byte determines how the rest is cut into pieces, the second whether the request was HEAD.
///
/// However it is cut, the response is the same; no byte of the body is kept that was not in the input; a head that was
/// seen before makes no difference.
///
/// # Panics
/// If that does not hold.
pub fn read_in_pieces(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (seed, bodiless) = (input.byte(), input.byte() & 1 == 1);
    let bytes = input.rest();
    let mut cache = HeadCache::default();
    let whole = read(&[bytes], bodiless, &mut cache);
    let known = read(&[bytes], bodiless, &mut cache);
    assert_eq!(known, whole, "with its head known");
    let cut = read(
        &pieces(bytes, seed.max(1)),
        bodiless,
        &mut HeadCache::default(),
    );
    assert_eq!(cut, whole, "in pieces");
    if let Read::Whole {
        length, head, body, ..
    } = whole
    {
        assert!(length <= bytes.len() && head.len() + body.len() <= length);
    }
}

fn read(pieces: &[&[u8]], bodiless: bool, cache: &mut HeadCache) -> Read {
    let mut reader = Reader::default();
    let mut before = 0;
    for piece in pieces {
        match reader.feed(piece, bodiless, KEEP, cache) {
            Ok(Progress::More) => before += piece.len(),
            Ok(Progress::Done(used)) => {
                assert!(used <= piece.len());
                assert_eq!(reader.body.len() as u64, reader.body_bytes);
                return Read::Whole {
                    status: reader.status,
                    keep_alive: reader.keep_alive,
                    head: reader.head,
                    body: reader.body,
                    length: before + used,
                };
            }
            Err(_) => return Read::ChunkError,
        }
    }
    Read::Unfinished {
        status: reader.status,
        body: reader.body,
    }
}
