//! The socket, its buffers, and the body that is being read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use tokio::io::ReadBuf;

use super::NoHead;
use crate::body::BodyError;
use crate::chunked::Decoder;
use crate::exchange::Exchange;
use crate::head::RequestHead;
use crate::input::{Input, with_buffer};
use crate::output::Output;
use crate::parse::Limits;
use crate::rejection::shown;
use crate::stream::Stream;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

pub(super) struct Inner<S> {
    /// `None` once the connection is over.
    pub(super) stream: Option<S>,
    pub(super) input: Input,
    pub(super) output: Output,
    /// Of the request that is being answered.
    pub(super) body: Decoder,
    /// The bytes of it that may come.
    pub(super) room: u64,
    /// Why no more of it comes.
    pub(super) failed: Option<BodyError>,
    /// The handle of that body has not been dropped.
    pub(super) held: bool,
    /// And waits for more of it.
    pub(super) reader: Option<Waker>,
    /// The connection waits for the end of the body.
    pub(super) awaited: bool,
    /// A 100 is to be sent before the body is first read.
    pub(super) expects: bool,
    /// What is in the output is the answer's, and its sender waits for room.
    pub(super) answers: bool,
    /// The client has sent more, which is read later: its end cannot be seen before.
    pub(super) unread: bool,
    /// Of the request that is being answered.
    pub(super) exchange: Option<Exchange>,
    /// An answer is under way of which only the end of the connection will be the end.
    pub(super) endless: bool,
}

impl<S: Stream> Inner<S> {
    pub(super) fn new(stream: S) -> Inner<S> {
        Inner {
            stream: Some(stream),
            input: Input::default(),
            output: Output::default(),
            body: Decoder::Done,
            room: 0,
            failed: None,
            held: false,
            reader: None,
            awaited: false,
            expects: false,
            answers: false,
            unread: false,
            exchange: None,
            endless: false,
        }
    }

    /// Read what is there; 0 is the end.
    pub(super) fn poll_read<T>(
        &mut self,
        context: &mut Context<'_>,
        look: impl FnOnce(&mut Inner<S>, &[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        self.unread = false;
        with_buffer(|buffer| {
            let Some(stream) = &mut self.stream else {
                return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
            };
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
            Poll::Ready(Ok(look(self, buffer.filled())))
        })
    }

    /// The head that is complete with `bytes`; what is behind it is kept.
    pub(super) fn take_head(
        &mut self,
        bytes: &[u8],
        limits: Limits,
    ) -> Result<Option<RequestHead>, NoHead> {
        if bytes.is_empty() {
            return Err(NoHead::End);
        }
        if !self.input.is_empty() {
            self.input.add(bytes);
            return self.input.head(limits).map_err(NoHead::Rejection);
        }
        let parsed = RequestHead::parse(bytes, limits).map_err(|error| {
            // For who wants to know what it was.
            self.input.add(shown(bytes));
            NoHead::Rejection(error)
        })?;
        let taken = parsed.as_ref().map_or(0, |(_, length)| *length);
        self.input.add(&bytes[taken..]);
        if parsed.is_none() {
            self.input.looked();
        }
        Ok(parsed.map(|(head, _)| head))
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Some(stream) => self.output.poll_flush(stream, context),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    /// All of the body that is in `bytes`; what is behind its end is kept.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Result<Bytes, BodyError> {
        let mut data = Vec::new();
        let mut at = 0;
        while at < bytes.len() && self.body != Decoder::Done {
            let found = self
                .body
                .decode(&bytes[at..])
                .map_err(|_| BodyError::Malformed)?;
            data.extend_from_slice(&bytes[at..][found.data]);
            at += found.taken;
        }
        self.input.add(&bytes[at..]);
        Ok(data.into())
    }

    /// The next piece of the body, `None` at its end.
    pub(super) fn poll_body(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            if self.body == Decoder::Done {
                return Poll::Ready(None);
            }
            if let Some(error) = self.failed {
                return Poll::Ready(Some(Err(error)));
            }
            let step = if self.input.is_empty() {
                self.say_continue(context);
                match ready!(self.poll_read(context, Inner::take_body)) {
                    Ok(step) => step,
                    Err(_) => Err(BodyError::Closed),
                }
            } else {
                let input = std::mem::take(&mut self.input);
                self.decode(input.rest())
            };
            match step {
                Err(error) => self.fail(error),
                Ok(piece) if self.will_have(&piece) > self.room => self.fail(BodyError::TooLarge),
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => {
                    self.room -= piece.len() as u64;
                    if let Some(exchange) = &mut self.exchange {
                        exchange.received += piece.len() as u64;
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
            }
        }
    }

    /// Bytes of the body with this piece, and what is known to come: a chunk that is too large is not waited for.
    pub(super) fn will_have(&self, piece: &Bytes) -> u64 {
        self.body.announced().saturating_add(piece.len() as u64)
    }

    /// No more of the body comes.
    pub(super) fn fail(&mut self, error: BodyError) {
        self.body = Decoder::Broken;
        self.failed.get_or_insert(error);
    }

    pub(super) fn take_body(&mut self, bytes: &[u8]) -> Result<Bytes, BodyError> {
        if bytes.is_empty() {
            return Err(BodyError::Closed);
        }
        self.decode(bytes)
    }

    pub(super) fn say_continue(&mut self, context: &mut Context<'_>) {
        if std::mem::take(&mut self.expects) {
            self.output.buffer().extend_from_slice(CONTINUE);
        }
        // A socket wakes only who asked last for room: not in place of who sends the answer.
        if !self.answers && !self.output.is_empty() {
            // What cannot be sent now goes before the answer; if the client is gone, reading says so.
            let _ = self.poll_flush(context);
        }
    }
}
