//! A client's connection in memory: the bytes that the client sends, in pieces, and those that it receives.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http1::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The server's end of the connection.
#[derive(Debug)]
pub struct Memory {
    pieces: VecDeque<Vec<u8>>,
    /// Whether the next piece has arrived: between two pieces a read has to wait once.
    come: bool,
    /// The bytes that were sent to the client.
    pub sent: Rc<RefCell<Vec<u8>>>,
}

impl Memory {
    /// Returns a connection whose client sends these pieces and then closes.
    pub fn new(pieces: &[&[u8]]) -> Self {
        Memory {
            pieces: pieces.iter().map(|piece| piece.to_vec()).collect(),
            come: true,
            sent: Rc::default(),
        }
    }

    /// Returns the bytes that can be read now, empty at the end; `None` if the next piece has not arrived yet.
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
        // A reader that is told to wait polls again, and the piece has arrived by then.
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
    fn try_send(&self, _: &[u8]) {}

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
