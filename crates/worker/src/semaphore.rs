//! Who may run: so many requests at once (`workers.concurrency`), the others wait in waiters.
//!
//! For one thread, so it costs a few plain instructions where a semaphore for many would cost atomic ones.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// So many places that were left may stay in waiters.
const MANY: usize = 16;

/// The semaphore.
pub(crate) struct LocalSemaphore {
    free: Cell<u32>,
    waiters: RefCell<VecDeque<Rc<Waiter>>>,
    /// How many in it have left.
    left: Cell<usize>,
    /// Places that are taken away as soon as they are free.
    owed: Cell<u32>,
}

/// A waiter that is kept without a request, until this is dropped.
pub(crate) struct HeldPermit(Rc<LocalSemaphore>);

impl Drop for HeldPermit {
    fn drop(&mut self) {
        let owed = self.0.owed.get();
        if owed > 0 {
            self.0.owed.set(owed - 1);
        } else {
            self.0.release();
        }
    }
}

#[derive(Default)]
struct Waiter {
    granted: Cell<bool>,
    left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A waiter in the waiters; ready when it is its turn. Dropped before that, it lets the next go first.
pub(crate) struct Acquire {
    semaphore: Rc<LocalSemaphore>,
    waiter: Rc<Waiter>,
    taken: bool,
}

impl LocalSemaphore {
    pub(crate) fn new(capacity: u32) -> Rc<LocalSemaphore> {
        Rc::new(LocalSemaphore {
            free: Cell::new(capacity),
            waiters: RefCell::default(),
            left: Cell::new(0),
            owed: Cell::new(0),
        })
    }

    /// Go in at once, if there is room and the queue is empty. If so, [`LocalSemaphore::leave`] later.
    pub(crate) fn try_acquire(&self) -> bool {
        let free = self.free.get();
        let enters = free > 0;
        if enters {
            self.free.set(free - 1);
        }
        enters
    }

    /// How many stand in waiters.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.borrow().len() - self.left.get()
    }

    /// Stand in waiters. When the turn is ready, [`LocalSemaphore::leave`] later.
    pub(crate) fn acquire(self: &Rc<Self>) -> Acquire {
        let waiter = Rc::new(Waiter::default());
        self.waiters.borrow_mut().push_back(Rc::clone(&waiter));
        Acquire {
            semaphore: Rc::clone(self),
            waiter,
            taken: false,
        }
    }

    /// Keep a waiter: a free one, or the next that is left.
    pub(crate) fn hold(self: &Rc<Self>) -> HeldPermit {
        if !self.try_acquire() {
            self.owed.set(self.owed.get() + 1);
        }
        HeldPermit(Rc::clone(self))
    }

    pub(crate) fn release(&self) {
        let owed = self.owed.get();
        if owed > 0 {
            self.owed.set(owed - 1);
            return;
        }
        let mut waiters = self.waiters.borrow_mut();
        while let Some(next) = waiters.pop_front() {
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
    fn give_up(&self, waiter: &Waiter) {
        waiter.left.set(true);
        self.left.set(self.left.get() + 1);
        let mut waiters = self.waiters.borrow_mut();
        if self.left.get() > waiters.len() / 2 + MANY {
            waiters.retain(|waiter| !waiter.left.get());
            self.left.set(0);
        }
    }
}

impl Future for Acquire {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.waiter.granted.get() {
            self.taken = true;
            return Poll::Ready(());
        }
        *self.waiter.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if !self.waiter.granted.get() {
            self.semaphore.give_up(&self.waiter);
        } else if !self.taken {
            self.semaphore.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ready(turn: &mut Acquire) -> bool {
        Pin::new(turn)
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }

    #[test]
    fn first_come_first_served() {
        let semaphore = LocalSemaphore::new(1);
        assert!(semaphore.try_acquire() && !semaphore.try_acquire());
        let (mut a, mut b) = (semaphore.acquire(), semaphore.acquire());
        assert!(!is_ready(&mut a) && !is_ready(&mut b));
        semaphore.release();
        assert!(!semaphore.try_acquire(), "who waits goes first");
        assert!(!is_ready(&mut b) && is_ready(&mut a));
        semaphore.release();
        assert!(is_ready(&mut b));
        semaphore.release();
        assert!(semaphore.try_acquire());
    }

    #[test]
    fn a_waiter_that_gives_up_passes_its_turn_on() {
        let semaphore = LocalSemaphore::new(1);
        assert!(semaphore.try_acquire());
        let (a, b, mut c) = (
            semaphore.acquire(),
            semaphore.acquire(),
            semaphore.acquire(),
        );
        drop(a);
        semaphore.release();
        drop(b);
        assert!(
            is_ready(&mut c),
            "b was granted the turn and left without using it"
        );
        semaphore.release();
        drop(c);
        assert!(semaphore.try_acquire() && !semaphore.try_acquire());
    }

    #[test]
    fn a_waiter_that_gives_up_is_forgotten_while_others_wait() {
        let semaphore = LocalSemaphore::new(1);
        assert!(semaphore.try_acquire());
        let mut first = semaphore.acquire();
        for _ in 0..1000 {
            drop(semaphore.acquire());
        }
        assert!(semaphore.waiters.borrow().len() < 30);
        let mut last = semaphore.acquire();
        semaphore.release();
        assert!(is_ready(&mut first) && !is_ready(&mut last));
        semaphore.release();
        assert!(is_ready(&mut last));
        assert!(semaphore.waiters.borrow().is_empty() && semaphore.left.get() == 0);
    }
}
