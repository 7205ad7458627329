//! A request's body, whole: in memory while it is small, in a file without a name beyond that.
//!
//! The worker gets it only when it is complete, so that a client that sends slowly occupies nobody, and it can be given
//! to a second worker.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

/// More than this goes to a file.
const MEMORY: usize = 64 << 10;
/// How much of a file is read at a time.
const PIECE: usize = 64 << 10;

/// A body that has come in. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) enum Upload {
    None,
    Memory(Bytes),
    File(Rc<File>, u64),
}

/// Why a body has not come in.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The client broke off or sent something malformed.
    Client,
    /// There is no room for it.
    Storage(io::Error),
}

impl Upload {
    pub(crate) async fn receive<B: Body<Data = Bytes> + Unpin>(
        mut body: B,
    ) -> Result<Upload, Failed> {
        if body.is_end_stream() {
            return Ok(Upload::None);
        }
        let Some(first) = piece(&mut body).await? else {
            return Ok(Upload::None);
        };
        if body.is_end_stream() {
            return Ok(Upload::Memory(first));
        }
        let mut memory = BytesMut::from(first);
        while memory.len() <= MEMORY {
            match piece(&mut body).await? {
                Some(next) => memory.extend_from_slice(&next),
                None => return Ok(Upload::Memory(memory.freeze())),
            }
        }
        to_file(memory, body).await
    }

    /// `None` if there is no body.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Upload::None => None,
            Upload::Memory(bytes) => Some(bytes.len() as u64),
            Upload::File(_, length) => Some(*length),
        }
    }

    /// To send it, from its beginning.
    pub(crate) fn outgoing(&self) -> Outgoing {
        match self {
            Upload::None => Outgoing::Memory(None),
            Upload::Memory(bytes) => Outgoing::Memory((!bytes.is_empty()).then(|| bytes.clone())),
            Upload::File(file, length) => Outgoing::File(Rc::clone(file), 0..*length),
        }
    }
}

/// The next piece; trailers are dropped.
async fn piece<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Result<Option<Bytes>, Failed> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => return Err(Failed::Client),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
        }
    }
}

/// The page cache takes it; a disk that is slower than the clients holds up this process, as it does others.
async fn to_file<B: Body<Data = Bytes> + Unpin>(
    memory: BytesMut,
    mut body: B,
) -> Result<Upload, Failed> {
    let mut file = tempfile::tempfile().map_err(Failed::Storage)?;
    let mut length = memory.len() as u64;
    file.write_all(&memory).map_err(Failed::Storage)?;
    drop(memory);
    while let Some(next) = piece(&mut body).await? {
        length += next.len() as u64;
        file.write_all(&next).map_err(Failed::Storage)?;
    }
    Ok(Upload::File(Rc::new(file), length))
}

/// A body on its way to a worker.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Memory(Option<Bytes>),
    /// This part of the file is still to be sent.
    File(Rc<File>, std::ops::Range<u64>),
}

/// Up to a piece of a file, from `from` on but not beyond `to`.
pub(crate) fn read_piece(file: &File, from: u64, to: u64) -> io::Result<Bytes> {
    let mut piece = vec![0; usize::try_from(to - from).unwrap_or(PIECE).min(PIECE)];
    file.read_exact_at(&mut piece, from)?;
    Ok(piece.into())
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(match &mut *self {
            Outgoing::Memory(bytes) => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
            Outgoing::File(_, left) if left.is_empty() => None,
            Outgoing::File(file, left) => {
                Some(read_piece(file, left.start, left.end).map(|piece| {
                    left.start += piece.len() as u64;
                    Frame::data(piece)
                }))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Outgoing::Memory(bytes) => bytes.is_none(),
            Outgoing::File(_, left) => left.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Outgoing::Memory(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Outgoing::File(_, left) => left.end - left.start,
        })
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        match future
            .as_mut()
            .poll(&mut Context::from_waker(std::task::Waker::noop()))
        {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }

    struct Pieces(Vec<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            Poll::Ready(self.0.pop().map(|piece| Ok(Frame::data(piece))))
        }
    }

    fn sent(upload: &Upload) -> Bytes {
        now(upload.outgoing().collect()).unwrap().to_bytes()
    }

    #[test]
    fn small_bodies_stay_in_memory_and_large_ones_do_not() {
        let none = now(Upload::receive(http_body_util::Empty::<Bytes>::new())).unwrap();
        assert_eq!((none.length(), sent(&none).len()), (None, 0));
        let small = now(Upload::receive(Full::new(Bytes::from("hello")))).unwrap();
        assert!(matches!(small, Upload::Memory(_)));
        assert_eq!(
            (small.length(), sent(&small)),
            (Some(5), Bytes::from("hello"))
        );
        let pieces = (0..10).map(|n| Bytes::from(vec![n; 20_000])).collect();
        let large = now(Upload::receive(Pieces(pieces))).unwrap();
        assert!(matches!(large, Upload::File(..)));
        assert_eq!(large.length(), Some(200_000));
        for _ in 0..2 {
            let bytes = sent(&large);
            assert!(
                bytes
                    .iter()
                    .enumerate()
                    .all(|(at, byte)| usize::from(*byte) == 9 - at / 20_000)
            );
        }
    }
}
