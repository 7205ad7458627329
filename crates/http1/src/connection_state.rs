//! The state of a connection, from which the periodic sweep knows whether the connection has timed out, and how to close it.
//!
//! A sweep over all connections now and then costs a request two stores; a timer per connection would cost a hundred times
//! that.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use rustix::time::{ClockId, clock_gettime};

use crate::pace::{MinPace, Pace};

/// Returns the milliseconds of the kernel's coarse monotonic clock: cheap to read, precise to a tick (4 ms at most).
#[must_use]
pub fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// The state of one connection.
#[derive(Debug)]
pub struct ConnectionState {
    /// When the current phase began, where the phase has a limit; in the time of [`now_ms`].
    since: Cell<u64>,
    phase: Cell<Phase>,
    close: Cell<Close>,
    /// The pace of the request's body and of the response.
    reads: Pace,
    writes: Pace,
    /// Whether the client is too slow with its body; the connection's task has not seen this yet.
    body_timed_out: Cell<bool>,
    /// The waker of the connection's task; set once, because it never changes.
    waker: RefCell<Option<Waker>>,
}

/// How a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    No,
    /// After the response that is being sent, if any.
    Gently,
    /// At once, whatever the connection is doing.
    Now,
    /// At once, because the client timed out; with the reason.
    GivenUp(&'static str),
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Connected; nothing was received yet.
    New,
    /// Between requests.
    Idle,
    /// A part of a head was received.
    Header,
    /// A request is being served, and the connection waits for more of the response.
    Busy,
    /// The rest of the response is being sent.
    Sending,
    /// The last response is sent; the client has to receive it before the socket is closed.
    Lingering,
}

/// Milliseconds that [`Phase::Lingering`] may take, as in nginx.
pub(crate) const LINGER: u64 = 5_000;

impl Default for ConnectionState {
    fn default() -> ConnectionState {
        ConnectionState {
            since: Cell::new(now_ms()),
            phase: Cell::new(Phase::New),
            close: Cell::new(Close::No),
            reads: Pace::default(),
            writes: Pace::default(),
            body_timed_out: Cell::new(false),
            waker: RefCell::new(None),
        }
    }
}

impl ConnectionState {
    pub fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Returns when the connection began to be idle or to wait for a head, in the time of [`now_ms`].
    pub fn since(&self) -> u64 {
        self.since.get()
    }

    /// Ends the connection: gently between requests or during a response, at once in the middle of a head.
    pub fn end(&self) {
        self.close.set(match self.phase.get() {
            Phase::Header => Close::GivenUp(
                "the head of its request did not arrive in time (http.header_timeout)",
            ),
            Phase::Lingering => Close::Now,
            Phase::New | Phase::Idle | Phase::Busy | Phase::Sending => Close::Gently,
        });
        self.wake();
    }

    /// Handles a client that is too slow: with its response, closes the connection; with its body, wakes the body's reader,
    /// which responds.
    pub(crate) fn check_pace(&self, body: &MinPace, send: &MinPace, now: u64) {
        if self.writes.is_below(send, now) {
            self.close.set(Close::GivenUp(
                "it did not read the response in time (http.send_timeout, http.min_rate)",
            ));
            self.wake();
        } else if self.reads.is_below(body, now) {
            self.body_timed_out.set(true);
            self.wake();
        }
    }

    /// Returns whether the body has timed out, and resets that.
    pub(crate) fn take_body_timed_out(&self) -> bool {
        self.body_timed_out.get() && self.body_timed_out.replace(false)
    }

    pub(crate) fn why_given_up(&self) -> Option<&'static str> {
        match self.close.get() {
            Close::GivenUp(why) => Some(why),
            _ => None,
        }
    }

    /// Closes the connection at once, whatever it is doing.
    pub fn cut_off(&self) {
        self.close.set(Close::Now);
        self.wake();
    }

    pub(crate) fn begin_body(&self) {
        self.reads.begin();
    }

    pub(crate) fn begin_answer(&self) {
        self.writes.begin();
    }

    /// Counts received bytes of a body; `waits`: the reader waits for more.
    pub(crate) fn reads(&self, waits: bool, came: usize) {
        self.reads.moved(came, waits);
    }

    /// Counts written bytes of a response; `waits`: the socket had no room for all.
    pub(crate) fn writes(&self, waits: bool, moved: usize) {
        self.writes.moved(moved, waits);
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        matches!(self.close.get(), Close::Now | Close::GivenUp(_))
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.close.get() != Close::No
    }

    pub(crate) fn set_waker(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if known.is_none() {
            *known = Some(waker.clone());
        }
    }

    /// Begins a phase that has a time limit.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(now_ms());
    }

    #[cfg(test)]
    pub(crate) fn set_since(&self, since: u64) {
        self.since.set(since);
    }

    /// Begins a phase without a time limit.
    pub(crate) fn work(&self, phase: Phase) {
        self.phase.set(phase);
    }
}
