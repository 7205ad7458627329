//! Receives a request's body whole: in memory while it is small, in an unnamed file beyond that.
//!
//! The worker gets the body only when it is complete, so that a client that sends slowly occupies no worker, and the request
//! can be retried on a second worker.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http1::{BodyError, Incoming, Spool};

/// Bytes of a body that are kept in memory; a larger body goes to a file.
const MEMORY: usize = 64 << 10;
/// Bytes read from a file at a time.
const PIECE: usize = 64 << 10;

/// A request body that was received.
#[derive(Debug, Clone)]
pub(crate) enum Upload {
    None,
    Memory(Bytes),
    File(Rc<Spool>),
}

/// Why a request body was not received.
#[derive(Debug)]
pub(crate) enum Failed {
    Body(BodyError),
    /// The body does not fit on the disk, or within `http.max_spool`.
    Storage(io::Error),
}

impl From<BodyError> for Failed {
    fn from(error: BodyError) -> Failed {
        Failed::Body(error)
    }
}

impl Upload {
    /// Receives a body of up to `limit` bytes; 0 is no limit. `is_long` returns true when other tasks should run first.
    pub(crate) async fn receive(
        body: Option<Incoming>,
        limit: u64,
        is_long: impl Fn() -> bool,
    ) -> Result<Upload, Failed> {
        let Some(mut body) = body else {
            return Ok(Upload::None);
        };
        let next = |context: &mut Context<'_>| {
            let next = body.poll_piece(context);
            next.map(|piece| piece.map(|piece| piece.map_err(Failed::from)))
        };
        Upload::collect(next, limit, is_long).await
    }

    async fn collect(
        mut next: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>>,
        limit: u64,
        is_long: impl Fn() -> bool,
    ) -> Result<Upload, Failed> {
        let within = |length: u64| match limit > 0 && length > limit {
            true => Err(Failed::Body(BodyError::OverPostLimit)),
            false => Ok(()),
        };
        let mut memory = BytesMut::new();
        while memory.len() <= MEMORY {
            match poll_fn(&mut next).await.transpose()? {
                // Most bodies come in one piece.
                Some(piece) if memory.is_empty() => memory = BytesMut::from(piece),
                Some(piece) => memory.extend_from_slice(&piece),
                None if memory.is_empty() => return Ok(Upload::None),
                None => return Ok(Upload::Memory(memory.freeze())),
            }
            within(memory.len() as u64)?;
        }
        let mut file = Spool::create().map_err(Failed::Storage)?;
        file.append(&memory).map_err(Failed::Storage)?;
        drop(memory);
        while let Some(piece) = poll_fn(&mut next).await.transpose()? {
            file.append(&piece).map_err(Failed::Storage)?;
            within(file.len())?;
            // A body that comes as fast as it is read never makes this task wait.
            if is_long() {
                tokio::task::yield_now().await;
            }
        }
        Ok(Upload::File(Rc::new(file)))
    }

    /// Returns the length of the body in bytes; `None` if there is no body.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Upload::None => None,
            Upload::Memory(bytes) => Some(bytes.len() as u64),
            Upload::File(file) => Some(file.len()),
        }
    }
}

/// Writes bytes that do not fit in a slot to a file.
pub(crate) fn file_of(bytes: &[u8]) -> Result<Rc<Spool>, Failed> {
    let mut file = Spool::create().map_err(Failed::Storage)?;
    file.append(bytes).map_err(Failed::Storage)?;
    Ok(Rc::new(file))
}

/// Reads a file from offset `from`, up to `PIECE` bytes and not beyond offset `to`.
pub(crate) fn read_piece(file: &File, from: u64, to: u64) -> io::Result<Bytes> {
    let mut piece = vec![0; usize::try_from(to - from).unwrap_or(PIECE).min(PIECE)];
    file.read_exact_at(&mut piece, from)?;
    Ok(piece.into())
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Returns the upload of a body that comes in these pieces.
    fn received(pieces: &[Vec<u8>]) -> Upload {
        let mut pieces = pieces.iter().map(|piece| Ok(piece.clone().into()));
        let mut collected =
            std::pin::pin!(Upload::collect(|_| Poll::Ready(pieces.next()), 0, || false));
        match collected
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(upload) => upload.expect("nothing fails"),
            Poll::Pending => panic!("it waits"),
        }
    }

    fn kept(upload: &Upload) -> Bytes {
        match upload {
            Upload::None => Bytes::new(),
            Upload::Memory(bytes) => bytes.clone(),
            Upload::File(file) => {
                let mut bytes = vec![0; usize::try_from(file.len()).expect("small")];
                file.file()
                    .read_exact_at(&mut bytes, 0)
                    .expect("it is there");
                bytes.into()
            }
        }
    }

    #[test]
    fn small_bodies_stay_in_memory_and_large_ones_do_not() {
        let none = received(&[]);
        assert_eq!((none.length(), kept(&none).len()), (None, 0));
        let small = received(&[b"hel".to_vec(), b"lo".to_vec()]);
        assert!(matches!(small, Upload::Memory(_)));
        assert_eq!(
            (small.length(), kept(&small)),
            (Some(5), Bytes::from("hello"))
        );
        let pieces: Vec<_> = (0..10).map(|n| vec![n; 20_000]).collect();
        let large = received(&pieces);
        assert!(matches!(large, Upload::File(..)));
        assert_eq!(large.length(), Some(200_000));
        assert!(kept(&large) == pieces.concat());
    }
}
