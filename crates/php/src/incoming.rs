//! The body of a request on its way to PHP, read in pieces as PHP asks for them.

use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use http1::BodyError;

/// The source of the rest of a request's body, in pieces.
pub trait BodySource {
    /// Returns the next piece; `None` at the end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
}

/// A request's body: what has arrived, and the source of the rest.
pub(crate) struct Incoming {
    source: Option<Box<dyn BodySource>>,
    /// Bytes that have arrived and PHP has not read.
    piece: Bytes,
    /// Bytes that arrived in several pieces before PHP read any.
    joined: Vec<u8>,
    /// Bytes that have arrived, bytes that were read, and the most that are allowed (0 is no limit).
    arrived: u64,
    read: u64,
    limit: u64,
    error: Option<BodyError>,
}

impl Incoming {
    pub(crate) fn new(source: Option<Box<dyn BodySource>>, limit: u64) -> Incoming {
        Incoming {
            source,
            piece: Bytes::new(),
            joined: Vec::new(),
            arrived: 0,
            read: 0,
            limit,
            error: None,
        }
    }

    pub(crate) fn error(&self) -> Option<BodyError> {
        self.error
    }

    /// Returns what has arrived and is unread. With `is_whole` it first looks for the first piece, which need not be waited
    /// for.
    pub(crate) fn here(&mut self, is_whole: bool) -> Bytes {
        if is_whole && self.piece.is_empty() && self.source.is_some() {
            let _ = self.poll_more(&mut Context::from_waker(Waker::noop()));
        }
        self.piece.clone()
    }

    /// Takes the source of what was left unread.
    pub(crate) fn take_source(&mut self) -> Option<Box<dyn BodySource>> {
        self.source.take()
    }

    /// Replaces what has arrived and what was to come by the whole body.
    pub(crate) fn replace(&mut self, source: Box<dyn BodySource>) {
        self.source = Some(source);
        (self.piece, self.arrived) = (Bytes::new(), 0);
    }

    fn fail(&mut self, error: BodyError) {
        self.error = Some(error);
        self.source = None;
    }

    /// Becomes ready when there is more to read, or the end of the body. Called when the current piece has been read.
    pub(crate) fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(source) = &mut self.source else {
            return Poll::Ready(());
        };
        match ready!(source.poll_piece(context)) {
            Some(Ok(piece)) => {
                self.arrived += piece.len() as u64;
                self.piece = piece;
            }
            Some(Err(error)) => self.fail(error),
            None => self.source = None,
        }
        Poll::Ready(())
    }

    /// Becomes ready when `most` bytes, or the whole body, have arrived. Called before anything is read.
    pub(crate) fn poll_first(
        &mut self,
        most: u64,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), BodyError>> {
        while self.source.is_some() && self.arrived < most {
            let before = std::mem::take(&mut self.piece);
            if !before.is_empty() {
                self.joined.extend_from_slice(&before);
            }
            ready!(self.poll_more(context));
            if self.is_beyond(self.arrived) {
                self.fail(BodyError::OverPostLimit);
            }
        }
        if !self.joined.is_empty() {
            let mut joined = std::mem::take(&mut self.joined);
            joined.extend_from_slice(&self.piece);
            self.piece = joined.into();
        }
        Poll::Ready(self.error.map_or(Ok(()), Err))
    }

    /// Takes what has arrived and is unread.
    pub(crate) fn take_piece(&mut self) -> Bytes {
        std::mem::take(&mut self.piece)
    }

    /// Collects what has arrived. Returns whether that is the whole body, or more than the limit.
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

    /// Reads into `buffer` and returns the number of bytes, 0 at the end; `None` when more has to arrive first.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Option<Result<usize, BodyError>> {
        if self.error == Some(BodyError::OverPostLimit) {
            return Some(Err(BodyError::OverPostLimit));
        }
        if self.piece.is_empty() {
            let end = self.error.map_or(Ok(0), Err);
            return self.source.is_none().then_some(end);
        }
        let n = self.piece.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.piece[..n]);
        self.piece.advance(n);
        self.read += n as u64;
        if self.is_beyond(self.read) {
            self.fail(BodyError::OverPostLimit);
            return Some(Err(BodyError::OverPostLimit));
        }
        Some(Ok(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source whose pieces each arrive at the second poll.
    struct Slow(Vec<Option<Result<Bytes, BodyError>>>, bool);

    impl BodySource for Slow {
        fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            self.1 = !self.1;
            if self.1 || self.0.is_empty() {
                return Poll::Pending;
            }
            Poll::Ready(self.0.remove(0))
        }
    }

    fn slow(
        pieces: &[&'static str],
        end: Option<Result<Bytes, BodyError>>,
        limit: u64,
    ) -> Incoming {
        let mut pieces: Vec<_> = pieces
            .iter()
            .map(|piece| Some(Ok((*piece).into())))
            .collect();
        pieces.push(end);
        Incoming::new(Some(Box::new(Slow(pieces, false))), limit)
    }

    /// Returns how often `poll_first` was pending, and its outcome.
    fn first(incoming: &mut Incoming, most: u64) -> (usize, Result<(), BodyError>) {
        let mut context = Context::from_waker(Waker::noop());
        for times in 0..10 {
            if let Poll::Ready(outcome) = incoming.poll_first(most, &mut context) {
                return (times, outcome);
            }
        }
        panic!("never ready");
    }

    fn read(incoming: &mut Incoming) -> Option<Result<Vec<u8>, BodyError>> {
        let mut buffer = [0; 100];
        let step = incoming.read(&mut buffer)?;
        Some(step.map(|n| buffer[..n].to_vec()))
    }

    #[test]
    fn a_small_body_is_waited_for_and_a_large_one_only_at_its_beginning() {
        let mut small = slow(&["ab", "cd", "e"], None, 0);
        assert_eq!(first(&mut small, 100), (4, Ok(())));
        assert!(small.source.is_none());
        assert_eq!(read(&mut small), Some(Ok(b"abcde".to_vec())));
        assert_eq!(read(&mut small), Some(Ok(Vec::new())));
        let mut large = slow(&["ab", "cd", "e"], None, 0);
        assert_eq!(first(&mut large, 3), (2, Ok(())));
        assert!(large.source.is_some());
        assert_eq!(read(&mut large), Some(Ok(b"abcd".to_vec())));
        assert_eq!(read(&mut large), None);
    }

    #[test]
    fn what_broke_off_is_never_at_its_end() {
        for error in [BodyError::Closed, BodyError::Malformed, BodyError::TimedOut] {
            let mut broken = slow(&["ab"], Some(Err(error)), 0);
            assert_eq!(first(&mut broken, 100), (2, Err(error)));
            let mut later = slow(&["ab"], Some(Err(error)), 0);
            assert_eq!(first(&mut later, 1), (1, Ok(())));
            assert_eq!(read(&mut later), Some(Ok(b"ab".to_vec())));
            let mut context = Context::from_waker(Waker::noop());
            while later.poll_more(&mut context).is_pending() {}
            for _ in 0..3 {
                assert_eq!(read(&mut later), Some(Err(error)));
            }
        }
    }

    #[test]
    fn more_than_the_limit_is_refused_before_it_is_read() {
        let mut long = slow(&["ab", "cd", "e"], None, 3);
        assert_eq!(
            first(&mut long, 100),
            (2, Err(BodyError::OverPostLimit)),
            "the rest is not waited for"
        );
    }
}
