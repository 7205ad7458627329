//! A request between its post and its end: its state, and the future of its response.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use http1::{Spool, cached_time};
use relay::RequestKey;
use relay::frame::{ResponseFrame, ResponsePayload};
use server::access::RequestTimes;

use crate::dispatch::Workers;
use crate::response_spool::{Broken, ResponseSpool};

/// A request that was posted and is not finished.
pub(crate) struct PendingRequest {
    pub(crate) key: RequestKey,
    /// Files with the parts of the request that did not fit in its slot; the worker asks for them.
    pub(crate) files: Vec<Rc<Spool>>,
    pub(crate) posted: Instant,
    /// Whether the request counts as waiting: no worker was idle when it was posted, or another thread's request took that
    /// worker.
    waits: Cell<bool>,
    claimed: Cell<bool>,
    /// Whether the worker has ended the request.
    pub(crate) has_ended: Cell<bool>,
    /// Where the time of the request went, if the access log shows it.
    pub(crate) spent: Cell<RequestTimes>,
    state: RefCell<State>,
    spool: RefCell<Option<Rc<ResponseSpool>>>,
    waker: RefCell<Option<Waker>>,
}

enum State {
    Open,
    /// A head that does not fit in the slot comes through the stream: the bytes received, and the number of bytes missing.
    Heading(Vec<u8>, usize),
    Done(Outcome),
    Taken,
}

/// How a posted request ended.
pub(crate) enum Outcome {
    /// The bytes of a [`ResponseFrame::Head`], and the spool of its body if that is a stream.
    Answer(Bytes, Option<Rc<ResponseSpool>>),
    /// The worker exited, this long after it had claimed the request. Zero if the worker ended the request without a
    /// response; [`Duration::MAX`] if the response is invalid or incomplete.
    Lost(Duration),
    /// No worker claimed the request in time.
    Expired,
}

impl PendingRequest {
    pub(crate) fn new(key: RequestKey, waits: bool, files: Vec<Rc<Spool>>) -> PendingRequest {
        PendingRequest {
            key,
            files,
            posted: cached_time(),
            waits: Cell::new(waits),
            claimed: Cell::new(false),
            has_ended: Cell::new(false),
            spent: Cell::default(),
            state: RefCell::new(State::Open),
            spool: RefCell::default(),
            waker: RefCell::default(),
        }
    }

    /// Marks the request as no longer waiting for a worker; returns true the first time.
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.replace(true)
    }

    /// Whether the request has to wait for a worker, or had to.
    pub(crate) fn waits(&self) -> bool {
        self.waits.get()
    }

    /// Counts the request as waiting if no worker has claimed it after `time`: its idle worker has claimed another request.
    /// Returns true the first time.
    pub(crate) fn is_overlooked(&self, time: Duration) -> bool {
        !self.waits.get() && self.waits_for(time) && !self.waits.replace(true)
    }

    /// Returns how long the request has waited; `None` if it did not have to wait.
    pub(crate) fn waited(&self) -> Option<Duration> {
        self.waits.get().then(|| self.posted.elapsed())
    }

    /// Whether no part of the response has come yet.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.state.borrow(), State::Open)
    }

    /// Whether more of the response is to come through the stream.
    pub(crate) fn is_streaming(&self) -> bool {
        let spool = self.spool.borrow();
        let is_heading = matches!(*self.state.borrow(), State::Heading(..));
        is_heading || spool.as_ref().is_some_and(|spool| !spool.is_over())
    }

    /// Takes the response frame from the slot.
    pub(crate) fn answered(&self, bytes: Bytes) {
        match ResponseFrame::parse(&bytes) {
            Some(ResponseFrame::Long(length)) => {
                self.state
                    .replace(State::Heading(Vec::new(), length as usize));
            }
            Some(ResponseFrame::Head(_, body)) => {
                let streams = matches!(body, ResponsePayload::Stream(_));
                if streams {
                    self.spool.replace(Some(Rc::default()));
                }
                let spool = self.spool.borrow().clone();
                self.settle(Outcome::Answer(bytes, spool));
            }
            None => self.settle(Outcome::Lost(Duration::MAX)),
        }
    }

    fn settle(&self, outcome: Outcome) {
        self.state.replace(State::Done(outcome));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Notes that the request has spent all of its time in the queue: no worker gets it any more.
    pub(crate) fn has_only_waited(&self) {
        self.spent.set(RequestTimes {
            queue: self.posted.elapsed(),
            ..RequestTimes::default()
        });
    }

    /// Ends the request, which has waited for a worker for as long as it may.
    pub(crate) fn expire(&self) {
        self.has_only_waited();
        self.settle(Outcome::Expired);
    }

    /// Whether the request has waited for a worker for `time` or longer, and still waits.
    pub(crate) fn waits_for(&self, time: Duration) -> bool {
        !self.claimed.get() && self.posted.elapsed() >= time
    }

    /// Ends the request unless its response has come: the worker has exited, or has ended the request without a response.
    pub(crate) fn lost(&self, after: Duration) {
        if matches!(*self.state.borrow(), State::Open | State::Heading(..)) {
            self.settle(Outcome::Lost(after));
        }
    }

    /// Takes a piece of the response that has come through the stream.
    pub(crate) fn push(&self, mut piece: Bytes) {
        let mut state = self.state.borrow_mut();
        if let State::Heading(head, missing) = &mut *state {
            let length = piece.len().min(*missing);
            head.extend_from_slice(&piece[..length]);
            piece.advance(length);
            *missing -= length;
            if *missing == 0 {
                let head = std::mem::take(head);
                drop(state);
                self.answered(head.into());
            }
        }
        if let Some(spool) = &*self.spool.borrow()
            && !piece.is_empty()
        {
            spool.push(piece);
        }
    }

    /// Marks the end of the response's stream.
    pub(crate) fn end_stream(&self, how: Result<(), Broken>) {
        if matches!(*self.state.borrow(), State::Heading(..)) {
            self.settle(Outcome::Lost(Duration::MAX));
        }
        if let Some(spool) = &*self.spool.borrow() {
            spool.end(how);
        }
    }

    /// Whether the spool is full of what the client has not read.
    pub(crate) fn is_full(&self) -> bool {
        let spool = self.spool.borrow();
        spool.as_ref().is_some_and(|spool| spool.is_full())
    }

    /// Waits until the spool has room for more of the response, or the client has left.
    pub(crate) async fn room(&self) {
        let spool = self.spool.borrow().clone();
        if let Some(spool) = spool {
            poll_fn(|context| spool.poll_room(context)).await;
        }
    }
}

/// The future of a response. Dropping it before the response is complete means that no task waits for it any more.
pub(crate) struct ResponseFuture {
    pub(crate) workers: Rc<Workers>,
    pub(crate) pending: Rc<PendingRequest>,
    /// Whether as much of the body was sent as the head announces.
    pub(crate) is_done: Cell<bool>,
}

impl Future for &ResponseFuture {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.pending.state.borrow_mut();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(outcome) => Poll::Ready(outcome),
            other => {
                *state = other;
                self.pending.waker.replace(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        let is_taken = matches!(*self.pending.state.borrow(), State::Taken);
        let is_read = match &*self.pending.spool.borrow() {
            Some(spool) => self.is_done.get() || spool.is_over(),
            None => is_taken,
        };
        if !is_read {
            self.workers.abandon(&self.pending);
        }
    }
}
