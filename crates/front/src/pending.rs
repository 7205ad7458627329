//! A request that was posted, until its worker has done with it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use http1::{Spool, turn_time};
use relay::RequestKey;
use relay::frame::{ResponseFrame, ResponsePayload};
use server::access::Spent;

use crate::dispatch::Workers;
use crate::response_spool::{Broken, ResponseSpool};

/// One of them.
pub(crate) struct PendingRequest {
    pub(crate) key: RequestKey,
    /// What its worker may ask for.
    pub(crate) files: Vec<Rc<Spool>>,
    pub(crate) posted: Instant,
    /// It is counted as waiting: no worker was idle when it was posted, or another thread's request took that worker.
    waits: Cell<bool>,
    claimed: Cell<bool>,
    /// Its worker has done with it.
    pub(crate) has_ended: Cell<bool>,
    /// Where its time went, if that is wanted.
    pub(crate) spent: Cell<Spent>,
    state: RefCell<State>,
    spool: RefCell<Option<Rc<ResponseSpool>>>,
    waker: RefCell<Option<Waker>>,
}

enum State {
    Open,
    /// A long head comes through the stream: this is there, so much of it is missing.
    Heading(Vec<u8>, usize),
    Done(Outcome),
    Taken,
}

/// What became of it.
pub(crate) enum Outcome {
    /// An [`ResponseFrame::Head`], and where the rest comes from if its body is a stream.
    Answer(Bytes, Option<Rc<ResponseSpool>>),
    /// Its worker is gone, so long after it had claimed it.
    Lost(Duration),
    /// No worker has claimed it in time.
    Expired,
}

impl PendingRequest {
    pub(crate) fn new(key: RequestKey, waits: bool, files: Vec<Rc<Spool>>) -> PendingRequest {
        PendingRequest {
            key,
            files,
            posted: turn_time(),
            waits: Cell::new(waits),
            claimed: Cell::new(false),
            has_ended: Cell::new(false),
            spent: Cell::default(),
            state: RefCell::new(State::Open),
            spool: RefCell::default(),
            waker: RefCell::default(),
        }
    }

    /// It waits for no worker any more; true the first time.
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.replace(true)
    }

    /// It has to wait for a worker, or had to.
    pub(crate) fn waits(&self) -> bool {
        self.waits.get()
    }

    /// The worker that it was posted for has taken something else; true the first time.
    pub(crate) fn is_overlooked(&self, time: Duration) -> bool {
        !self.waits.get() && self.waits_for(time) && !self.waits.replace(true)
    }

    /// How long it had to wait, if it had to.
    pub(crate) fn waited(&self) -> Option<Duration> {
        self.waits.get().then(|| self.posted.elapsed())
    }

    /// Nothing has come yet.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.state.borrow(), State::Open)
    }

    /// More of its answer is to come through the stream.
    pub(crate) fn is_streaming(&self) -> bool {
        let spool = self.spool.borrow();
        let is_heading = matches!(*self.state.borrow(), State::Heading(..));
        is_heading || spool.as_ref().is_some_and(|spool| !spool.is_over())
    }

    /// This stands in the slot.
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

    /// No worker gets it any more.
    pub(crate) fn has_only_waited(&self) {
        self.spent.set(Spent {
            queue: self.posted.elapsed(),
            ..Spent::default()
        });
    }

    /// It has waited for a worker for as long as it may.
    pub(crate) fn expire(&self) {
        self.has_only_waited();
        self.settle(Outcome::Expired);
    }

    /// It waits for a worker for longer than this.
    pub(crate) fn waits_for(&self, time: Duration) -> bool {
        !self.claimed.get() && self.posted.elapsed() >= time
    }

    /// Its worker is gone, or has done with it without an answer.
    pub(crate) fn lost(&self, after: Duration) {
        if matches!(*self.state.borrow(), State::Open | State::Heading(..)) {
            self.settle(Outcome::Lost(after));
        }
    }

    /// A piece has come through the stream.
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

    /// Nothing more comes through the stream.
    pub(crate) fn end_stream(&self, how: Result<(), Broken>) {
        if matches!(*self.state.borrow(), State::Heading(..)) {
            self.settle(Outcome::Lost(Duration::MAX));
        }
        if let Some(spool) = &*self.spool.borrow() {
            spool.end(how);
        }
    }

    /// What of its answer the client has not read is as much as may be.
    pub(crate) fn is_full(&self) -> bool {
        let spool = self.spool.borrow();
        spool.as_ref().is_some_and(|spool| spool.is_full())
    }

    /// Until there is room for more of its answer, or its client has left.
    pub(crate) async fn room(&self) {
        let spool = self.spool.borrow().clone();
        if let Some(spool) = spool {
            poll_fn(|context| spool.poll_room(context)).await;
        }
    }
}

/// Of the task that waits; dropped before the answer, none does.
pub(crate) struct ResponseFuture {
    pub(crate) workers: Rc<Workers>,
    pub(crate) pending: Rc<PendingRequest>,
    /// All that was to come has come.
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
