//! The body of a streamed response on its way from a task to the client.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

/// Bytes of a streamed body that may wait for the client.
const PIPE_CAPACITY: usize = 256 * 1024;

#[derive(Default)]
struct PipeState {
    pieces: VecDeque<Bytes>,
    queued: usize,
    closed: bool,
    failed: bool,
    gone: bool,
    discarded: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl PipeState {
    /// Drops what is queued: the pipe has no reader any more.
    fn empty(&mut self) {
        self.pieces.clear();
        self.queued = 0;
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

/// The body of a streamed response on its way from a task to the client.
#[derive(Default)]
pub struct Pipe(RefCell<PipeState>);

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipe({} bytes queued)", self.0.borrow().queued)
    }
}

impl Pipe {
    pub(crate) fn is_gone(&self) -> bool {
        self.0.borrow().gone
    }

    pub(crate) fn is_full(&self) -> bool {
        let state = self.0.borrow();
        state.queued >= PIPE_CAPACITY && !state.gone
    }

    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.borrow_mut();
        if state.queued < PIPE_CAPACITY || state.gone {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    pub(crate) fn push(&self, piece: Bytes) -> bool {
        let mut state = self.0.borrow_mut();
        if state.gone || state.discarded {
            return !state.gone;
        }
        state.queued += piece.len();
        state.pieces.push_back(piece);
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
        true
    }

    fn finish(&self, failed: bool) {
        let mut state = self.0.borrow_mut();
        state.closed = true;
        state.failed |= failed;
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }

    pub(crate) fn close(&self) {
        self.finish(false);
    }

    pub(crate) fn fail(&self) {
        self.finish(true);
    }

    /// Returns the next piece for the client, or an error when the stream broke off.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        let mut state = self.0.borrow_mut();
        if let Some(piece) = state.pieces.pop_front() {
            state.queued -= piece.len();
            if let Some(writer) = state.writer.take() {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        if state.closed {
            return Poll::Ready(if state.failed {
                Some(Err(BrokenOff))
            } else {
                None
            });
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }

    /// Marks the client as gone, which a writing task is told. Returns whether a task would have written more.
    pub fn hang_up(&self) -> bool {
        let mut state = self.0.borrow_mut();
        state.gone |= !state.discarded;
        state.empty();
        state.gone && !state.closed
    }

    /// Discards what is written from here on: the client has received all that the head announced. A writing task is not
    /// told.
    pub fn discard(&self) {
        let mut state = self.0.borrow_mut();
        state.discarded = true;
        state.empty();
    }
}

/// A streamed response ended in an error after the head was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the handler failed while its response was being streamed")
    }
}

impl std::error::Error for BrokenOff {}
