//! A connection's socket, its buffers, and the request's body that is being read.

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
    /// `None` once the connection is closed.
    pub(super) stream: Option<S>,
    pub(super) input: Input,
    pub(super) output: Output,
    /// The body of the request that is being served.
    pub(super) body: Decoder,
    /// Bytes of the body that may still be received.
    pub(super) room: u64,
    /// Why the body has ended early.
    pub(super) failed: Option<BodyError>,
    /// Whether the body's handle still exists.
    pub(super) held: bool,
    /// The waker of the body's reader, which waits for more.
    pub(super) reader: Option<Waker>,
    /// Whether the connection waits for the end of the body.
    pub(super) awaited: bool,
    /// Whether a 100 (Continue) is to be sent before the body is first read.
    pub(super) expects: bool,
    /// Whether the output belongs to a response, whose sender waits for room in the socket.
    pub(super) answers: bool,
    /// Whether the client has sent more, which is read later: an EOF behind it cannot be seen before.
    pub(super) unread: bool,
    /// The outcome, so far, of the request that is being served.
    pub(super) exchange: Option<Exchange>,
    /// Whether the response's body ends only with the connection, and is not complete yet.
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

    /// Passes received bytes to `handle`; none at EOF.
    pub(super) fn poll_read<T>(
        &mut self,
        context: &mut Context<'_>,
        handle: impl FnOnce(&mut Inner<S>, &[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        self.unread = false;
        with_buffer(|buffer| {
            let Some(stream) = &mut self.stream else {
                return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
            };
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
            Poll::Ready(Ok(handle(self, buffer.filled())))
        })
    }

    /// Returns the head that `bytes` completes, and keeps the bytes behind it.
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
            // For the log line of the rejection.
            self.input.add(shown(bytes));
            NoHead::Rejection(error)
        })?;
        let taken = parsed.as_ref().map_or(0, |(_, length)| *length);
        self.input.add(&bytes[taken..]);
        if parsed.is_none() {
            self.input.mark_scanned();
        }
        Ok(parsed.map(|(head, _)| head))
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Some(stream) => self.output.poll_flush(stream, context),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Returns the part of the body in `bytes`, and keeps the bytes behind its end.
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

    /// Returns the next piece of the body, `None` at its end.
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
                self.send_continue(context);
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

    /// Returns the size of the body with this piece and the bytes known to come: the connection does not wait for a chunk
    /// that is too large.
    pub(super) fn will_have(&self, piece: &Bytes) -> u64 {
        self.body.announced().saturating_add(piece.len() as u64)
    }

    /// Ends the body early.
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

    pub(super) fn send_continue(&mut self, context: &mut Context<'_>) {
        if std::mem::take(&mut self.expects) {
            self.output.buffer().extend_from_slice(CONTINUE);
        }
        // A socket keeps only the waker of the task that last waited for room, and must not lose that of the response's
        // sender.
        if !self.answers && !self.output.is_empty() {
            // Bytes that cannot be sent now are sent before the response. If the client has left, the next read fails.
            let _ = self.poll_flush(context);
        }
    }
}
