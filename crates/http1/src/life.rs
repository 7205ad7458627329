//! What a coarse clock needs to know to close connections that nothing comes from, and how it closes them.
//!
//! One look at all connections now and then costs a request two stores; a timer each would cost a hundred times that.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of the kernel's coarse monotonic clock: cheap to read, precise to a tick (4 ms at most).
#[must_use]
pub fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// Of one connection.
#[derive(Debug)]
pub struct Life {
    /// When the current phase began: waiting for a header, or receiving one.
    since: Cell<u64>,
    phase: Cell<Phase>,
    close: Cell<Close>,
    /// Since when it waits for the client: for more of a body, for room for more of an answer; 0 if it does not.
    reads: Cell<u64>,
    writes: Cell<u64>,
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

impl Default for Life {
    fn default() -> Life {
        Life {
            since: Cell::new(now_ms()),
            phase: Cell::new(Phase::New),
            close: Cell::new(Close::No),
            reads: Cell::new(0),
            writes: Cell::new(0),
            waker: RefCell::new(None),
        }
    }
}

impl Life {
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

    /// Since when the client has done nothing about what is waited for, if anything is.
    pub fn stalled_since(&self) -> Option<u64> {
        let waits = [self.reads.get(), self.writes.get()];
        waits.into_iter().filter(|since| *since > 0).min()
    }

    /// The same, of one whose client is waited for.
    pub(crate) fn give_up(&self) {
        self.close.set(Close::GivenUp(
            "it sent no more of a body, or read no more of an answer (http.stall_timeout)",
        ));
        self.wake();
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

    /// More of a body is waited for, or has come.
    pub(crate) fn reads(&self, waits: bool) {
        self.reads.set(if waits { now_ms() } else { 0 });
    }

    /// Not all of an answer could be written; `some`: a part was.
    pub(crate) fn writes(&self, waits: bool, some: bool) {
        if !waits {
            self.writes.set(0);
        } else if some || self.writes.get() == 0 {
            self.writes.set(now_ms());
        }
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

    /// Into one that has none.
    pub(crate) fn work(&self, phase: Phase) {
        self.phase.set(phase);
    }
}
