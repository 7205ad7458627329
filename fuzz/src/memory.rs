//! A client's connection in memory: what it sends, in pieces, and what it is sent.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http1::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One end of it.
#[derive(Debug)]
pub struct Memory {
    pieces: VecDeque<Vec<u8>>,
    /// The next piece has come: between two there is nothing for a moment.
    come: bool,
    /// What was sent to the client.
    pub sent: Rc<RefCell<Vec<u8>>>,
}

impl Memory {
    /// The client sends these, then no more.
    pub fn new(pieces: &[&[u8]]) -> Self {
        Memory {
            pieces: pieces.iter().map(|piece| piece.to_vec()).collect(),
            come: true,
            sent: Rc::default(),
        }
    }

    /// What there is to read now, empty at the end; `None` if that has not come yet.
    fn front(&self) -> Option<&[u8]> {
        match self.pieces.front() {
            None => Some(&[]),
            Some(piece) => self.come.then_some(piece.as_slice()),
        }
    }
}

impl AsyncRead for Memory {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // What is told to wait is polled again, so it has come by then.
        let Some(piece) = self.front() else {
            self.come = true;
            return Poll::Pending;
        };
        let taken = piece.len().min(buffer.remaining());
        buffer.put_slice(&piece[..taken]);
        if let Some(piece) = self.pieces.front_mut() {
            piece.drain(..taken);
            if piece.is_empty() {
                self.pieces.pop_front();
                self.come = false;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Memory {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sent.borrow_mut().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Memory {
    fn say(&self, _: &[u8]) {}

    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.front() {
            Some(_) => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }

    fn peek(&self) -> io::Result<usize> {
        self.front()
            .map(<[u8]>::len)
            .ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn has_unread(&self) -> bool {
        self.peek().is_ok_and(|length| length > 0)
    }

    fn break_off(&self) {}
}
