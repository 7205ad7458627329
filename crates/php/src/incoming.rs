//! The body of a request on its way to PHP: read piece by piece, as PHP asks for it.

use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};

/// The rest of a request's body, piece by piece.
pub trait BodySource {
    /// The next piece, `None` at the end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyFault>>>;
}

/// Why no more of a request's body comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It is malformed, or the client is gone.
    Broken,
    /// It is larger than the server takes, whatever PHP's limit.
    TooLarge,
    /// It is larger than PHP's limit.
    OverLimit,
}

/// What has arrived, and what is still to come.
pub(crate) struct Incoming {
    source: Option<Box<dyn BodySource>>,
    /// Arrived and not read by PHP yet.
    piece: Bytes,
    /// Bytes arrived and bytes read so far, and how many there may be (0 is no limit).
    arrived: u64,
    read: u64,
    limit: u64,
    fault: Option<BodyFault>,
}

impl Incoming {
    pub(crate) fn new(source: Option<Box<dyn BodySource>>, limit: u64) -> Incoming {
        Incoming {
            source,
            piece: Bytes::new(),
            arrived: 0,
            read: 0,
            limit,
            fault: None,
        }
    }

    pub(crate) fn fault(&self) -> Option<BodyFault> {
        self.fault
    }

    /// What is here and unread, after a look for the first piece if it need not be waited for.
    pub(crate) fn here(&mut self, is_whole: bool) -> Bytes {
        if is_whole && self.piece.is_empty() && self.source.is_some() {
            let _ = self.poll_more(&mut Context::from_waker(Waker::noop()));
        }
        self.piece.clone()
    }

    /// What was left unread.
    pub(crate) fn take_source(&mut self) -> Option<Box<dyn BodySource>> {
        self.source.take()
    }

    /// Ready when there is more to read, or its end. What is there has been read.
    pub(crate) fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(source) = &mut self.source else {
            return Poll::Ready(());
        };
        match ready!(source.poll_piece(context)) {
            Some(Ok(piece)) => {
                self.arrived += piece.len() as u64;
                self.piece = piece;
            }
            Some(Err(fault)) => {
                self.fault = Some(fault);
                self.source = None;
            }
            None => self.source = None,
        }
        Poll::Ready(())
    }

    /// Take what is here; whether that is all, or more than will be read of it.
    pub(crate) fn gather(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut all = Vec::new();
        let complete = loop {
            all.extend_from_slice(&std::mem::take(&mut self.piece));
            if self.source.is_none() || self.is_beyond(self.arrived) {
                break true;
            }
            if self.poll_more(&mut context).is_pending() {
                break false;
            }
        };
        self.piece = all.into();
        complete
    }

    fn is_beyond(&self, bytes: u64) -> bool {
        self.limit > 0 && bytes > self.limit
    }

    /// 0: the end; -1: the client is gone; -2: larger than the limit; `None` when only the client can tell.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Option<isize> {
        if self.fault == Some(BodyFault::OverLimit) {
            return Some(-2);
        }
        if self.piece.is_empty() {
            let end = if self.fault.is_some() { -1 } else { 0 };
            return self.source.is_none().then_some(end);
        }
        let n = self.piece.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.piece[..n]);
        self.piece.advance(n);
        self.read += n as u64;
        if self.is_beyond(self.read) {
            self.fault = Some(BodyFault::OverLimit);
            self.source = None;
            return Some(-2);
        }
        isize::try_from(n).ok()
    }
}
