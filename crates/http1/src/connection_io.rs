//! A connection's socket with its input and output, shared by the connection's task and the reader of a request's body.
//!
//! It is borrowed only within a call and never while other code is polled, so that a response's body may read its own
//! request's body.

mod inner;

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use crate::body::BodyError;
use crate::chunked::Decoder;
use crate::connection_state::{ConnectionState, Phase};
use crate::endpoints::Endpoints;
use crate::exchange::Exchange;
use crate::framing::RequestFraming;
use crate::head::RequestHead;
use crate::incoming::{Incoming, Source};
use crate::output::Output;
use crate::parse::{Limits, ParseError};
use crate::proxy_protocol::Beginning;
use crate::rejection::first_line;
use crate::stream::Stream;

use inner::Inner;

/// Bytes of an unwanted body that are read, if they are there already, so that the connection can be kept open.
const READ_OVER: usize = 256 * 1024;

/// Why no further head is read.
pub(crate) enum NoHead {
    /// The client has left, or the connection is ending.
    End,
    Rejection(ParseError),
}

pub(crate) struct ConnectionIo<S> {
    pub(crate) state: Rc<ConnectionState>,
    inner: RefCell<Inner<S>>,
}

impl<S: Stream> ConnectionIo<S> {
    pub(crate) fn new(stream: S, state: Rc<ConnectionState>) -> ConnectionIo<S> {
        ConnectionIo {
            state,
            inner: RefCell::new(Inner::new(stream)),
        }
    }

    pub(crate) fn poll_head(
        &self,
        context: &mut Context<'_>,
        limits: Limits,
    ) -> Poll<Result<RequestHead, NoHead>> {
        let inner = &mut *self.inner.borrow_mut();
        if inner.input.is_new() {
            // A pipelined request.
            if let Some(head) = inner.input.head(limits).map_err(NoHead::Rejection)? {
                return Poll::Ready(Ok(head));
            }
        }
        loop {
            let Poll::Ready(step) =
                inner.poll_read(context, |inner, bytes| inner.take_head(bytes, limits))
            else {
                let has_begun = self.state.phase() == Phase::Header;
                return if self.state.is_ending() && !has_begun {
                    Poll::Ready(Err(NoHead::End))
                } else {
                    Poll::Pending
                };
            };
            match step {
                Err(_) => return Poll::Ready(Err(NoHead::End)),
                Ok(Err(no_head)) => return Poll::Ready(Err(no_head)),
                Ok(Ok(Some(head))) => return Poll::Ready(Ok(head)),
                Ok(Ok(None)) if self.state.phase() != Phase::Header && !inner.input.is_empty() => {
                    self.state.enter(Phase::Header);
                }
                Ok(Ok(None)) => {}
            }
        }
    }

    /// Reads the PROXY protocol header before the first head; returns the endpoints that it gives.
    pub(crate) fn poll_proxy_header(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Endpoints>, NoHead>> {
        let inner = &mut *self.inner.borrow_mut();
        loop {
            let Poll::Ready(came) = inner.poll_read(context, |inner, bytes| {
                inner.input.add(bytes);
                bytes.len()
            }) else {
                return match self.state.is_ending() && inner.input.is_empty() {
                    true => Poll::Ready(Err(NoHead::End)),
                    false => Poll::Pending,
                };
            };
            if matches!(came, Ok(0) | Err(_)) {
                return Poll::Ready(Err(NoHead::End));
            }
            if self.state.phase() != Phase::Header {
                self.state.enter(Phase::Header);
            }
            match Beginning::of(inner.input.rest()) {
                Beginning::Incomplete => {}
                Beginning::Absent => return Poll::Ready(Ok(None)),
                Beginning::Malformed => {
                    return Poll::Ready(Err(NoHead::Rejection(ParseError::NoProxyHeader)));
                }
                Beginning::Header(length, endpoints) => {
                    inner.input.take(length);
                    if inner.input.is_empty() {
                        self.state.enter(Phase::New);
                    }
                    return Poll::Ready(Ok(endpoints));
                }
            }
        }
    }

    /// Returns the first line of the input, where that is no head.
    pub(crate) fn first_line(&self) -> Vec<u8> {
        first_line(self.inner.borrow().input.rest())
    }

    /// Prepares for the request whose head was read; returns the handle of its body, if it has one. `most` is the maximum
    /// size of the body in bytes.
    pub(crate) fn begin_body(
        self: &Rc<Self>,
        framing: &RequestFraming,
        most: u64,
    ) -> Option<Incoming> {
        let mut inner = self.inner.borrow_mut();
        (inner.room, inner.failed) = (most, None);
        inner.exchange = Some(Exchange::begin());
        inner.answers = false;
        inner.body = Decoder::new(framing.body);
        inner.expects = framing.expects && inner.input.is_empty();
        inner.held = inner.body != Decoder::Done;
        if inner.held {
            self.state.begin_body();
        }
        inner
            .held
            .then(|| Incoming(Rc::<ConnectionIo<S>>::clone(self)))
    }

    /// Notes that the response begins, so that no 100 is sent any more. Returns false if no request can follow: the client
    /// still waits for a 100 and may or may not send its body now, or the body was cut off.
    pub(crate) fn begin_answer(&self) -> bool {
        let inner = &mut *self.inner.borrow_mut();
        inner.answers = true;
        self.state.begin_answer();
        !std::mem::take(&mut inner.expects) && inner.failed.is_none()
    }

    /// Notes the status of the response that is sent.
    pub(crate) fn answers_with(&self, status: u16) {
        if let Some(exchange) = &mut self.inner.borrow_mut().exchange {
            exchange.status = Some(status);
        }
    }

    /// Counts bytes of the response's body that were added to the output.
    pub(crate) fn sends(&self, bytes: u64) {
        if let Some(exchange) = &mut self.inner.borrow_mut().exchange {
            exchange.sent += bytes;
        }
    }

    /// Returns the outcome of the request, once.
    pub(crate) fn end_exchange(&self, is_complete: bool) -> Option<Exchange> {
        let inner = &mut *self.inner.borrow_mut();
        let mut exchange = inner.exchange.take()?;
        exchange.is_complete = is_complete;
        if !is_complete {
            let unsent = inner.output.unsent() as u64;
            exchange.sent = exchange.sent.saturating_sub(unsent);
        }
        Some(exchange)
    }

    pub(crate) fn with_output<T>(&self, add: impl FnOnce(&mut Output) -> T) -> T {
        add(&mut self.inner.borrow_mut().output)
    }

    pub(crate) fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = &mut *self.inner.borrow_mut();
        let step = inner.poll_flush(context);
        let moved = std::mem::take(&mut inner.output.moved);
        self.state.writes(step.is_pending(), moved);
        step
    }

    /// Returns whether the request's body was read to its end.
    pub(crate) fn is_at_end(&self) -> bool {
        self.inner.borrow().body == Decoder::Done
    }

    /// Waits, after the response, until the body was read to its end or its handle was dropped; returns whether a request
    /// can follow.
    pub(crate) fn poll_rest(&self, context: &mut Context<'_>) -> Poll<bool> {
        let inner = &mut *self.inner.borrow_mut();
        inner.awaited = inner.held && !matches!(inner.body, Decoder::Done | Decoder::Broken);
        if inner.awaited {
            return Poll::Pending;
        }
        let mut read = 0;
        while read < READ_OVER {
            match inner.poll_body(context) {
                Poll::Ready(None) => return Poll::Ready(true),
                Poll::Ready(Some(Ok(piece))) => read += piece.len(),
                Poll::Ready(Some(Err(_))) | Poll::Pending => break,
            }
        }
        Poll::Ready(false)
    }

    /// Returns whether there are unread bytes of the client, here or in the socket.
    pub(crate) fn has_unread(&self) -> bool {
        let inner = self.inner.borrow();
        let stream = inner.stream.as_ref();
        inner.body != Decoder::Done
            || !inner.input.is_empty()
            || stream.is_some_and(Stream::has_unread)
    }

    /// Ready when the client has hung up, while the connection waits for a response. Otherwise wakes the connection's task
    /// when the client sends anything.
    pub(crate) fn poll_hung_up(&self, context: &mut Context<'_>) -> Poll<()> {
        let inner = &mut *self.inner.borrow_mut();
        while self.state.phase() == Phase::Busy && !inner.unread && inner.reader.is_none() {
            let Some(stream) = &inner.stream else {
                return Poll::Ready(());
            };
            if ready!(stream.poll_readable(context)).is_err() {
                return Poll::Ready(());
            }
            match stream.peek() {
                Ok(0) => return Poll::Ready(()),
                Ok(_) => inner.unread = true,
                // The readiness was stale; `peek` has cleared it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Closes the sending side of the socket.
    pub(crate) fn poll_shutdown(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner.borrow_mut().stream {
            Some(stream) => Pin::new(stream).poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Reads and drops bytes until the client has closed its side.
    pub(crate) fn poll_linger(&self, context: &mut Context<'_>) -> Poll<()> {
        let inner = &mut *self.inner.borrow_mut();
        loop {
            match ready!(inner.poll_read(context, |_, bytes| bytes.len())) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
    }

    /// Sets whether a close would look like the end of the response's body. While it is set, [`ConnectionIo::close`] resets
    /// the connection.
    pub(crate) fn set_endless(&self, endless: bool) {
        self.inner.borrow_mut().endless = endless;
    }

    /// Returns whether a close would look like the end of the response's body.
    pub(crate) fn is_endless(&self) -> bool {
        self.inner.borrow().endless
    }

    /// Closes the socket, and wakes the task that still reads a body from it with an error.
    pub(crate) fn close(&self) {
        let reader = {
            let mut inner = self.inner.borrow_mut();
            if let Some(stream) = inner.stream.take()
                && inner.endless
            {
                stream.break_off();
            }
            if inner.body != Decoder::Done {
                inner.fail(BodyError::Closed);
            }
            inner.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Ends the body with [`BodyError::TimedOut`], and wakes its reader.
    pub(crate) fn body_timed_out(&self) {
        let inner = &mut *self.inner.borrow_mut();
        if inner.body != Decoder::Done {
            inner.fail(BodyError::TimedOut);
        }
        self.state.reads(false, 0);
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }
}

impl<S: Stream> Source for ConnectionIo<S> {
    fn poll_piece(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let inner = &mut *self.inner.borrow_mut();
        let step = inner.poll_body(context);
        let came = match &step {
            Poll::Ready(Some(Ok(piece))) => piece.len(),
            _ => 0,
        };
        self.state.reads(step.is_pending(), came);
        if step.is_pending() {
            inner.reader = Some(context.waker().clone());
        } else {
            inner.reader = None;
            if inner.awaited && matches!(inner.body, Decoder::Done | Decoder::Broken) {
                self.state.wake();
            }
        }
        step
    }

    fn let_go(&self) {
        let inner = &mut *self.inner.borrow_mut();
        inner.held = false;
        inner.reader = None;
        self.state.reads(false, 0);
        if inner.awaited {
            self.state.wake();
        }
    }
}
