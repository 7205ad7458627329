//! A connection's socket with what has come and what is going, shared by the connection and who reads a request's body.
//!
//! It is lent out for moments only, so that an answer may read its own request's body.

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

/// How much of an unwanted body is read so that the connection can go on, if it is there already.
const READ_OVER: usize = 256 * 1024;

/// Why no further head comes.
pub(crate) enum NoHead {
    /// The client has left, or is to leave.
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
            // Behind the request before.
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

    /// The header of the PROXY protocol before the first head, and whose connection it says this is.
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

    /// How what has come begins, where that is no head.
    pub(crate) fn first_line(&self) -> Vec<u8> {
        first_line(self.inner.borrow().input.rest())
    }

    /// The body of the request whose head has come, if it has one.
    pub(crate) fn begin_body(
        self: &Rc<Self>,
        asked: &RequestFraming,
        most: u64,
    ) -> Option<Incoming> {
        let mut inner = self.inner.borrow_mut();
        (inner.room, inner.failed) = (most, None);
        inner.exchange = Some(Exchange::begin());
        inner.answers = false;
        inner.body = Decoder::new(asked.body);
        inner.expects = asked.expects && inner.input.is_empty();
        inner.held = inner.body != Decoder::Done;
        if inner.held {
            self.state.begin_body();
        }
        inner
            .held
            .then(|| Incoming(Rc::<ConnectionIo<S>>::clone(self)))
    }

    /// The answer begins: no 100 any more. False if nothing can follow it: the client waits for a 100, and may or may not send
    /// its body now, or that body broke off.
    pub(crate) fn begin_answer(&self) -> bool {
        let inner = &mut *self.inner.borrow_mut();
        inner.answers = true;
        self.state.begin_answer();
        !std::mem::take(&mut inner.expects) && inner.failed.is_none()
    }

    /// An answer with this status is on its way.
    pub(crate) fn answers_with(&self, status: u16) {
        if let Some(exchange) = &mut self.inner.borrow_mut().exchange {
            exchange.status = Some(status);
        }
    }

    /// Bytes of its body go to the output.
    pub(crate) fn sends(&self, bytes: u64) {
        if let Some(exchange) = &mut self.inner.borrow_mut().exchange {
            exchange.sent += bytes;
        }
    }

    /// What became of the request, once.
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

    /// Whether the body of the request has come to its end.
    pub(crate) fn is_at_end(&self) -> bool {
        self.inner.borrow().body == Decoder::Done
    }

    /// After the answer: ready when the body is at its end, or its handle was dropped; whether a request can follow.
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

    /// Whether there is something of the client's that was not read, here or in the socket.
    pub(crate) fn has_unread(&self) -> bool {
        let inner = self.inner.borrow();
        let stream = inner.stream.as_ref();
        inner.body != Decoder::Done
            || !inner.input.is_empty()
            || stream.is_some_and(Stream::has_unread)
    }

    /// While an answer is waited for: ready when the client has hung up. Otherwise the connection's task is woken when
    /// anything comes from it.
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
                // It was readiness left over from before; it is cleared now.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Say that nothing more will be sent.
    pub(crate) fn poll_shutdown(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner.borrow_mut().stream {
            Some(stream) => Pin::new(stream).poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Read until the client has closed its side too.
    pub(crate) fn poll_linger(&self, context: &mut Context<'_>) -> Poll<()> {
        let inner = &mut *self.inner.borrow_mut();
        loop {
            match ready!(inner.poll_read(context, |_, bytes| bytes.len())) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
    }

    /// Until this is taken back, the end of the connection must not look like one.
    pub(crate) fn set_endless(&self, endless: bool) {
        self.inner.borrow_mut().endless = endless;
    }

    /// Whether the end of the connection would look like the end of the body that is sent.
    pub(crate) fn is_endless(&self) -> bool {
        self.inner.borrow().endless
    }

    /// The connection is over, for who still reads from it too.
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

    /// The client has not sent the body in time: the reader is told.
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
