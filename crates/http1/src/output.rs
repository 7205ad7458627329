//! What is on its way to the client.
//!
//! Small pieces are joined in one buffer, which comes from a shelf of the thread and goes back when it is empty: a
//! connection that has nothing to send has none.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Pieces up to this size are copied behind what is there: one more copy is cheaper than the kernel's list of pieces.
const SMALL: usize = 4 * 1024;
/// With so much waiting, it is sent before more is asked for.
const ENOUGH: usize = 16 * 1024;

thread_local! {
    static FREE_LIST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// In this order: the buffer, the piece, the end of the piece's line.
#[derive(Debug, Default)]
pub(crate) struct Output {
    buffer: Vec<u8>,
    /// How much of the buffer is sent.
    sent: usize,
    piece: Bytes,
    tail: &'static [u8],
    /// The piece is in memory of its own.
    detached: bool,
    /// Bytes sent since this was last taken.
    pub(crate) moved: usize,
}

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.has_no_piece()
    }

    fn has_no_piece(&self) -> bool {
        self.piece.is_empty() && self.tail.is_empty()
    }

    /// Bytes that are still to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.buffer.len() - self.sent + self.piece.len() + self.tail.len()
    }

    /// Whether more may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.has_no_piece() && self.buffer.len() < ENOUGH
    }

    /// To write at its end. Only while there is room.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        debug_assert!(self.has_no_piece(), "what comes after a piece must wait");
        if self.buffer.capacity() == 0 {
            self.buffer = FREE_LIST.take();
        }
        &mut self.buffer
    }

    /// A piece and what comes behind it. Only while there is room.
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

    /// The client takes no more for now: what is kept for it is not to hold what it is a part of, such as a string of PHP's.
    pub(crate) fn detach(&mut self) {
        if !self.piece.is_empty() && !self.detached {
            self.piece = Bytes::copy_from_slice(&self.piece);
            self.detached = true;
        }
    }

    /// Send all there is.
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
