//! Bytes on their way to the client.
//!
//! Small pieces are joined in one buffer. The buffer comes from a free list of the thread and goes back when it is empty, so
//! that a connection with nothing to send has no buffer.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// The largest piece, in bytes, that is copied into the buffer: one more copy is cheaper than a longer list of `IoSlice`s
/// for the kernel.
const SMALL: usize = 4 * 1024;
/// Bytes in the buffer from which on they are sent before more of the body is taken.
const ENOUGH: usize = 16 * 1024;

thread_local! {
    static FREE_LIST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The unsent bytes of a connection, sent in this order: the buffer, the piece, the tail (the CR LF behind a chunk).
#[derive(Debug, Default)]
pub(crate) struct Output {
    buffer: Vec<u8>,
    /// Bytes of the buffer that have been sent.
    sent: usize,
    piece: Bytes,
    tail: &'static [u8],
    /// Whether the piece has memory of its own, see [`Output::detach`].
    detached: bool,
    /// Bytes sent since this field was last reset.
    pub(crate) moved: usize,
}

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.has_no_piece()
    }

    fn has_no_piece(&self) -> bool {
        self.piece.is_empty() && self.tail.is_empty()
    }

    /// Returns the number of bytes that are still to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.buffer.len() - self.sent + self.piece.len() + self.tail.len()
    }

    /// Returns whether more may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.has_no_piece() && self.buffer.len() < ENOUGH
    }

    /// Returns the buffer, to append to. Only while [`Output::has_room`].
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        debug_assert!(self.has_no_piece(), "what comes after a piece must wait");
        if self.buffer.capacity() == 0 {
            self.buffer = FREE_LIST.take();
        }
        &mut self.buffer
    }

    /// Adds a piece and the bytes behind it. Only while [`Output::has_room`].
    pub(crate) fn push(&mut self, piece: Bytes, tail: &'static [u8]) {
        if piece.len() <= SMALL {
            let buffer = self.buffer();
            buffer.extend_from_slice(&piece);
            buffer.extend_from_slice(tail);
        } else {
            self.piece = piece;
            self.tail = tail;
            self.detached = false;
        }
    }

    /// Copies the unsent piece, because the client takes no more for now: the piece must not keep alive the larger memory
    /// that it is a part of, such as a PHP string.
    pub(crate) fn detach(&mut self) {
        if !self.piece.is_empty() && !self.detached {
            self.piece = Bytes::copy_from_slice(&self.piece);
            self.detached = true;
        }
    }

    /// Sends everything.
    pub(crate) fn poll_flush(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let count = ready!(self.poll_write(Pin::new(&mut *stream), context))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.moved += count;
            self.advance(count);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(
        &self,
        stream: Pin<&mut (impl AsyncWrite + Unpin)>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let buffer = &self.buffer[self.sent..];
        if self.has_no_piece() {
            return stream.poll_write(context, buffer);
        }
        let slices = [buffer, &self.piece, self.tail].map(IoSlice::new);
        let begin = usize::from(buffer.is_empty());
        stream.poll_write_vectored(context, &slices[begin..])
    }

    fn advance(&mut self, mut count: usize) {
        let buffered = count.min(self.buffer.len() - self.sent);
        self.sent += buffered;
        if self.buffer.capacity() > 0 && self.sent == self.buffer.len() {
            self.put_back();
        }
        count -= buffered;
        let of_piece = count.min(self.piece.len());
        self.piece.advance(of_piece);
        self.tail = &self.tail[count - of_piece..];
    }

    fn put_back(&mut self) {
        self.sent = 0;
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() <= 2 * ENOUGH {
            buffer.clear();
            FREE_LIST.set(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn the_shelf_keeps_its_buffer_whatever_is_sent() {
        let mut context = Context::from_waker(Waker::noop());
        let mut output = Output::default();
        let mut send = |output: &mut Output| {
            let mut sent = Vec::new();
            assert!(output.poll_flush(&mut sent, &mut context).is_ready());
            sent.len()
        };
        output.buffer().extend_from_slice(b"a head");
        assert_eq!(send(&mut output), 6);
        output.push(vec![0; SMALL + 1].into(), b"\r\n");
        assert_eq!(send(&mut output), SMALL + 3);
        assert!(FREE_LIST.take().capacity() > 0);
    }
}
