//! The body of a response that is a file.
//!
//! Bytes in the page cache are read at once, without a thread and without blocking. Only bytes that must come from a disk
//! are read on tokio's threads for blocking work.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use rustix::io::{Errno, ReadWriteFlags};
use tokio::task::JoinHandle;

/// Bytes read from the file at a time.
const PIECE: u64 = 64 * 1024;

type Piece = io::Result<Vec<u8>>;

/// A part of a file, or text.
#[derive(Debug)]
pub struct FileBody {
    state: State,
    /// Bytes that are still to be sent.
    left: u64,
}

#[derive(Debug)]
enum State {
    Full(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
    },
    Reading {
        file: Arc<File>,
        offset: u64,
        piece: JoinHandle<Piece>,
    },
}

impl FileBody {
    #[must_use]
    pub fn empty() -> FileBody {
        FileBody::full(Bytes::new())
    }

    #[must_use]
    pub fn full(bytes: Bytes) -> FileBody {
        FileBody {
            left: bytes.len() as u64,
            state: State::Full(bytes),
        }
    }

    pub(crate) fn new(file: File, offset: u64, length: u64) -> FileBody {
        FileBody {
            state: State::File {
                file: Arc::new(file),
                offset,
            },
            left: length,
        }
    }

    /// Returns the next bytes; none if the file is shorter than it was.
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            match &mut self.state {
                State::Full(bytes) => return Poll::Ready(Ok(std::mem::take(bytes))),
                State::File { file, offset } => {
                    let length = self.left.min(PIECE);
                    match read_now(file, *offset, length) {
                        Ok(bytes) => {
                            *offset += bytes.len() as u64;
                            return Poll::Ready(Ok(bytes.into()));
                        }
                        Err(Errno::INTR) => {}
                        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                            let (file, offset) = (Arc::clone(file), *offset);
                            let piece = read_elsewhere(Arc::clone(&file), offset, length);
                            self.state = State::Reading {
                                file,
                                offset,
                                piece,
                            };
                        }
                        Err(error) => return Poll::Ready(Err(error.into())),
                    }
                }
                State::Reading {
                    file,
                    offset,
                    piece,
                } => {
                    let bytes =
                        ready!(Pin::new(piece).poll(context)).map_err(io::Error::other)??;
                    self.state = State::File {
                        file: Arc::clone(file),
                        offset: *offset + bytes.len() as u64,
                    };
                    return Poll::Ready(Ok(bytes.into()));
                }
            }
        }
    }
}

/// Reads bytes from the page cache; `EAGAIN` if it has none of them.
fn read_now(file: &File, offset: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let buffer = &mut [IoSliceMut::new(&mut bytes)];
    let count = rustix::io::preadv2(file, buffer, offset, ReadWriteFlags::NOWAIT)?;
    bytes.truncate(count);
    Ok(bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a read that nothing cancels; the thread has all that it needs"
)]
fn read_elsewhere(file: Arc<File>, offset: u64, length: u64) -> JoinHandle<Piece> {
    tokio::task::spawn_blocking(move || {
        use std::os::unix::fs::FileExt as _;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        loop {
            match file.read_at(&mut bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => {
                    bytes.truncate(count?);
                    return Ok(bytes);
                }
            }
        }
    })
}

impl http1::Body for FileBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let piece = ready!(self.poll_bytes(context));
        Poll::Ready(Some(piece.and_then(|bytes| {
            if bytes.is_empty() {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the file became shorter while it was sent",
                ));
            }
            self.left -= bytes.len() as u64;
            Ok(bytes)
        })))
    }

    fn length(&self) -> Option<u64> {
        Some(self.left)
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = ready!(http1::Body::poll_piece(&mut *self, context));
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
