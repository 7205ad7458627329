//! Keeps the part of a response that its client has not read yet: in memory while it is small, then in an unnamed file, so
//! that a client that reads slowly holds no worker.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http1::Spool;

use crate::upload::read_piece;

/// Bytes that are kept in memory; what exceeds them goes to a file.
const MEMORY: usize = 64 << 10;
/// Bytes in the file at which the worker has to pause until the client has read all of them: an endless response would fill
/// the disk.
const MOST: u64 = 1 << 30;

/// The worker's response broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// The buffer between the task that reads a response from its worker and the connection that writes it.
#[derive(Default)]
pub(crate) struct ResponseSpool {
    kept: RefCell<Kept>,
    /// Whether the client has left.
    abandoned: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
}

#[derive(Default)]
struct Kept {
    memory: VecDeque<Bytes>,
    bytes: usize,
    /// The bytes that follow those in memory: the range `in_file` of this file.
    file: Option<Spool>,
    in_file: std::ops::Range<u64>,
    /// Whether the file cannot be used: the disk is full, or the limit `http.max_spool` is reached.
    no_file: bool,
    end: Option<Result<(), Broken>>,
}

impl Kept {
    fn push(&mut self, piece: Bytes) {
        let fits = self.bytes == 0 || self.bytes + piece.len() <= MEMORY;
        if self.in_file.is_empty() && (fits || self.no_file) || !self.append(&piece) {
            self.bytes += piece.len();
            self.memory.push_back(piece);
        }
    }

    /// Appends to the file; returns false if that fails and the file contains no unread bytes.
    fn append(&mut self, piece: &[u8]) -> bool {
        if self.file.is_none() {
            self.file = Spool::create().ok();
        }
        let written = self
            .file
            .as_mut()
            .is_some_and(|file| file.append(piece).is_ok());
        if written {
            self.in_file.end += piece.len() as u64;
        } else if self.in_file.is_empty() {
            (self.no_file, self.file) = (true, None);
        } else {
            // Order would be lost: the response cannot be completed.
            self.end = Some(Err(Broken));
            return true;
        }
        written
    }

    fn pop(&mut self) -> Option<Result<Bytes, Broken>> {
        if let Some(piece) = self.memory.pop_front() {
            self.bytes -= piece.len();
            return Some(Ok(piece));
        }
        if self.in_file.is_empty() {
            return None;
        }
        let file = self.file.as_mut()?;
        let Ok(piece) = read_piece(file.file(), self.in_file.start, self.in_file.end) else {
            return Some(Err(Broken));
        };
        self.in_file.start += piece.len() as u64;
        if self.in_file.is_empty() {
            self.in_file = 0..0;
            // A file that cannot be truncated is not used again: nothing more would fit.
            self.no_file |= file.clear().is_err();
        }
        Some(Ok(piece))
    }

    fn is_full(&self) -> bool {
        self.in_file.end >= MOST
            || self.no_file && self.bytes >= MEMORY
            // A response that is partly in the file cannot continue in memory.
            || !self.in_file.is_empty() && !Spool::has_room()
    }
}

impl ResponseSpool {
    pub(crate) fn push(&self, piece: Bytes) {
        if self.abandoned.get() {
            return;
        }
        self.kept.borrow_mut().push(piece);
        wake(&self.reader);
    }

    /// Whether the worker has to pause the response for now.
    pub(crate) fn is_full(&self) -> bool {
        !self.abandoned.get() && self.kept.borrow().is_full()
    }

    /// Marks the end of the response.
    pub(crate) fn end(&self, how: Result<(), Broken>) {
        self.kept.borrow_mut().end.get_or_insert(how);
        wake(&self.reader);
    }

    /// Marks the response as having no reader any more.
    pub(crate) fn abandon(&self) {
        self.abandoned.set(true);
        wake(&self.writer);
    }

    /// Polls until the spool has room, or the client has left.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        keep(&self.writer, context);
        match self.is_full() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    pub(crate) fn poll_next(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        let mut kept = self.kept.borrow_mut();
        let was_full = kept.is_full();
        if let Some(piece) = kept.pop() {
            if was_full && !kept.is_full() {
                wake(&self.writer);
            }
            return Poll::Ready(Some(piece));
        }
        match kept.end {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(broken)) => Poll::Ready(Some(Err(broken))),
            None => {
                keep(&self.reader, context);
                Poll::Pending
            }
        }
    }

    /// Whether the response has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.kept.borrow().end.is_some()
    }
}

fn wake(slot: &RefCell<Option<Waker>>) {
    if let Some(waker) = slot.take() {
        waker.wake();
    }
}

fn keep(slot: &RefCell<Option<Waker>>, context: &Context<'_>) {
    let mut slot = slot.borrow_mut();
    if !slot
        .as_ref()
        .is_some_and(|waker| waker.will_wake(context.waker()))
    {
        *slot = Some(context.waker().clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(spool: &ResponseSpool) -> Poll<Option<Result<Bytes, Broken>>> {
        spool.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn it_comes_out_in_order_through_memory_file_and_memory() {
        let spool = ResponseSpool::default();
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        for round in 0..200u8 {
            let piece = vec![round; 10_000];
            sent.extend_from_slice(&piece);
            spool.push(piece.into());
            // Slow at first, then fast enough to empty the file.
            let reads = if round < 100 { round % 2 } else { 3 };
            for _ in 0..reads {
                if let Poll::Ready(Some(Ok(piece))) = next(&spool) {
                    got.extend_from_slice(&piece);
                }
            }
            assert!(spool.kept.borrow().bytes <= MEMORY);
            if round == 99 {
                assert!(
                    !spool.kept.borrow().in_file.is_empty(),
                    "it never went to the file"
                );
            }
        }
        assert!(
            spool.kept.borrow().in_file.is_empty(),
            "the file is empty again"
        );
        spool.end(Ok(()));
        while let Poll::Ready(Some(Ok(piece))) = next(&spool) {
            got.extend_from_slice(&piece);
        }
        assert!(got == sent);
        assert_eq!(next(&spool), Poll::Ready(None));
    }

    #[test]
    fn what_broke_off_never_looks_complete() {
        let spool = ResponseSpool::default();
        spool.push("a".into());
        spool.end(Err(Broken));
        spool.end(Ok(()));
        assert_eq!(next(&spool), Poll::Ready(Some(Ok("a".into()))));
        assert_eq!(next(&spool), Poll::Ready(Some(Err(Broken))));
        assert!(spool.is_over());
    }

    #[test]
    fn a_full_store_has_room_once_its_client_has_read_or_left() {
        for leaves in [false, true] {
            let spool = ResponseSpool::default();
            let context = &mut Context::from_waker(Waker::noop());
            spool.kept.borrow_mut().no_file = true;
            assert_eq!(spool.poll_room(context), Poll::Ready(()));
            spool.push(vec![0; MEMORY].into());
            assert!(spool.is_full() && spool.poll_room(context).is_pending());
            if leaves {
                spool.abandon();
                spool.push("never kept".into());
            } else {
                assert!(next(&spool).is_ready());
            }
            assert_eq!(spool.poll_room(context), Poll::Ready(()));
            assert_eq!(spool.kept.borrow().memory.len(), usize::from(leaves));
        }
    }
}
