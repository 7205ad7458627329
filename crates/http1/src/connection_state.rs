//! What a coarse clock needs to know to close connections that nothing comes from, and how it closes them.
//!
//! One look at all connections now and then costs a request two stores; a timer each would cost a hundred times that.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use rustix::time::{ClockId, clock_gettime};

use crate::pace::{MinPace, Pace};

/// Milliseconds of the kernel's coarse monotonic clock: cheap to read, precise to a tick (4 ms at most).
#[must_use]
pub fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// Of one connection.
#[derive(Debug)]
pub struct ConnectionState {
    /// When the current phase began: waiting for a header, or receiving one.
    since: Cell<u64>,
    phase: Cell<Phase>,
    close: Cell<Close>,
    /// Of the body that comes, and of the answer that goes.
    reads: Pace,
    writes: Pace,
    /// The client is too slow with its body, which the connection does not know yet.
    body_timed_out: Cell<bool>,
    /// Of the connection's task; set once, it is always the same.
    waker: RefCell<Option<Waker>>,
}

/// What the clock wants of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    No,
    /// After the answer that is under way, if any.
    Gently,
    /// Whatever it is doing.
    Now,
    /// The same, because its client did nothing for too long: why.
    GivenUp(&'static str),
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has come yet.
    New,
    /// Between requests.
    Idle,
    /// A head has begun to come.
    Header,
    /// A request is being answered, and more of the answer is waited for.
    Busy,
    /// What is left of the answer is being sent.
    Sending,
    /// The last answer is sent, and the client is to take note that it was.
    Leaving,
}

/// How long, in milliseconds, [`Phase::Leaving`] may take: as under nginx.
pub(crate) const LEAVING: u64 = 5_000;

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

    /// When it began to be idle or to wait for a header, as [`now_ms`] tells the time.
    pub fn since(&self) -> u64 {
        self.since.get()
    }

    /// End this connection: between requests or after the answer gently, in the middle of a header at once.
    pub fn end(&self) {
        self.close.set(match self.phase.get() {
            Phase::Header => {
                Close::GivenUp("its request's head did not come in time (http.header_timeout)")
            }
            Phase::Leaving => Close::Now,
            Phase::New | Phase::Idle | Phase::Busy | Phase::Sending => Close::Gently,
        });
        self.wake();
    }

    /// End it if its client is too slow: with an answer at once; with a body by telling its reader, which answers.
    pub(crate) fn look_at_pace(&self, body: &MinPace, send: &MinPace, now: u64) {
        if self.writes.is_below(send, now) {
            self.close.set(Close::GivenUp(
                "it did not read its answer in time (http.send_timeout, http.min_rate)",
            ));
            self.wake();
        } else if self.reads.is_below(body, now) {
            self.body_timed_out.set(true);
            self.wake();
        }
    }

    /// Once.
    pub(crate) fn take_body_timed_out(&self) -> bool {
        self.body_timed_out.get() && self.body_timed_out.replace(false)
    }

    pub(crate) fn why_given_up(&self) -> Option<&'static str> {
        match self.close.get() {
            Close::GivenUp(why) => Some(why),
            _ => None,
        }
    }

    /// End it whatever it is doing.
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

    /// Counts bytes of a body that have come; `waits`: more are waited for.
    pub(crate) fn reads(&self, waits: bool, came: usize) {
        self.reads.moved(came, waits);
    }

    /// Counts bytes of an answer that were written; `waits`: there was no room for all.
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

    /// Into a phase that has a limit.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(now_ms());
    }

    #[cfg(test)]
    pub(crate) fn set_since(&self, since: u64) {
        self.since.set(since);
    }

    /// Into one that has none.
    pub(crate) fn work(&self, phase: Phase) {
        self.phase.set(phase);
    }
}
