//! Who may run: so many requests at once (`workers.concurrency`), the others wait in line.
//!
//! For one thread, so it costs a few plain instructions where a semaphore for many would cost atomic ones.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// So many places that were left may stay in line.
const MANY: usize = 16;

/// The gate.
pub(crate) struct Gate {
    free: Cell<u32>,
    line: RefCell<VecDeque<Rc<Place>>>,
    /// How many in it have left.
    left: Cell<usize>,
    /// Places that are taken away as soon as they are free.
    owed: Cell<u32>,
}

/// A place that is kept without a request, until this is dropped.
pub(crate) struct Held(Rc<Gate>);

impl Drop for Held {
    fn drop(&mut self) {
        let owed = self.0.owed.get();
        if owed > 0 {
            self.0.owed.set(owed - 1);
        } else {
            self.0.leave();
        }
    }
}

#[derive(Default)]
struct Place {
    granted: Cell<bool>,
    left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A place in the line; ready when it is its turn. Dropped before that, it lets the next go first.
pub(crate) struct Turn {
    gate: Rc<Gate>,
    place: Rc<Place>,
    taken: bool,
}

impl Gate {
    pub(crate) fn new(capacity: u32) -> Rc<Gate> {
        Rc::new(Gate {
            free: Cell::new(capacity),
            line: RefCell::default(),
            left: Cell::new(0),
            owed: Cell::new(0),
        })
    }

    /// Go in at once, if there is room and nobody waits. If so, [`Gate::leave`] later.
    pub(crate) fn try_enter(&self) -> bool {
        let free = self.free.get();
        let enters = free > 0;
        if enters {
            self.free.set(free - 1);
        }
        enters
    }

    /// How many stand in line.
    pub(crate) fn waiting(&self) -> usize {
        self.line.borrow().len() - self.left.get()
    }

    /// Stand in line. When the turn is ready, [`Gate::leave`] later.
    pub(crate) fn line_up(self: &Rc<Self>) -> Turn {
        let place = Rc::new(Place::default());
        self.line.borrow_mut().push_back(Rc::clone(&place));
        Turn {
            gate: Rc::clone(self),
            place,
            taken: false,
        }
    }

    /// Keep a place: a free one, or the next that is left.
    pub(crate) fn hold(self: &Rc<Self>) -> Held {
        if !self.try_enter() {
            self.owed.set(self.owed.get() + 1);
        }
        Held(Rc::clone(self))
    }

    pub(crate) fn leave(&self) {
        let owed = self.owed.get();
        if owed > 0 {
            self.owed.set(owed - 1);
            return;
        }
        let mut line = self.line.borrow_mut();
        while let Some(next) = line.pop_front() {
            if next.left.get() {
                self.left.set(self.left.get() - 1);
                continue;
            }
            next.granted.set(true);
            if let Some(waker) = next.waker.borrow_mut().take() {
                waker.wake();
            }
            return;
        }
        self.free.set(self.free.get() + 1);
    }

    /// One who waits waits no more; nothing is kept for many of them.
    #[cold]
    fn give_up(&self, place: &Place) {
        place.left.set(true);
        self.left.set(self.left.get() + 1);
        let mut line = self.line.borrow_mut();
        if self.left.get() > line.len() / 2 + MANY {
            line.retain(|place| !place.left.get());
            self.left.set(0);
        }
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.place.granted.get() {
            self.taken = true;
            return Poll::Ready(());
        }
        *self.place.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.place.granted.get() {
            self.gate.give_up(&self.place);
        } else if !self.taken {
            self.gate.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ready(turn: &mut Turn) -> bool {
        Pin::new(turn)
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }

    #[test]
    fn first_come_first_served() {
        let gate = Gate::new(1);
        assert!(gate.try_enter() && !gate.try_enter());
        let (mut a, mut b) = (gate.line_up(), gate.line_up());
        assert!(!is_ready(&mut a) && !is_ready(&mut b));
        gate.leave();
        assert!(!gate.try_enter(), "who waits goes first");
        assert!(!is_ready(&mut b) && is_ready(&mut a));
        gate.leave();
        assert!(is_ready(&mut b));
        gate.leave();
        assert!(gate.try_enter());
    }

    #[test]
    fn who_gives_up_passes_the_turn_on() {
        let gate = Gate::new(1);
        assert!(gate.try_enter());
        let (a, b, mut c) = (gate.line_up(), gate.line_up(), gate.line_up());
        drop(a);
        gate.leave();
        drop(b);
        assert!(
            is_ready(&mut c),
            "b was granted the turn and left without using it"
        );
        gate.leave();
        drop(c);
        assert!(gate.try_enter() && !gate.try_enter());
    }

    #[test]
    fn who_gives_up_is_forgotten_while_others_still_wait() {
        let gate = Gate::new(1);
        assert!(gate.try_enter());
        let mut first = gate.line_up();
        for _ in 0..1000 {
            drop(gate.line_up());
        }
        assert!(gate.line.borrow().len() < 30);
        let mut last = gate.line_up();
        gate.leave();
        assert!(is_ready(&mut first) && !is_ready(&mut last));
        gate.leave();
        assert!(is_ready(&mut last));
        assert!(gate.line.borrow().is_empty() && gate.left.get() == 0);
    }
}
