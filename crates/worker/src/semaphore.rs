//! A semaphore for one thread: it limits the requests that run at once (`workers.concurrency`); the others wait in a queue.
//!
//! A semaphore for many threads would cost atomic instructions where this one costs a few plain ones.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Waiters that have given up and may stay in the queue.
const MANY: usize = 16;

/// Permits, and the queue of those that wait for one: first come, first served.
pub(crate) struct LocalSemaphore {
    free: Cell<u32>,
    waiters: RefCell<VecDeque<Rc<Waiter>>>,
    /// Waiters in the queue that have given up.
    left: Cell<usize>,
    /// Permits that [`LocalSemaphore::hold`] takes as soon as they are free.
    owed: Cell<u32>,
}

/// A permit that no request has, until this is dropped.
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

/// Waits in the queue; ready when it has its permit. Dropped with a permit that it did not take, it gives that to the next waiter.
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

    /// Takes a free permit. True if there was one; [`LocalSemaphore::release`] gives it back.
    pub(crate) fn try_acquire(&self) -> bool {
        let free = self.free.get();
        let enters = free > 0;
        if enters {
            self.free.set(free - 1);
        }
        enters
    }

    /// The number of waiters.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.borrow().len() - self.left.get()
    }

    /// Waits for a permit; [`LocalSemaphore::release`] gives it back.
    pub(crate) fn acquire(self: &Rc<Self>) -> Acquire {
        let waiter = Rc::new(Waiter::default());
        self.waiters.borrow_mut().push_back(Rc::clone(&waiter));
        Acquire {
            semaphore: Rc::clone(self),
            waiter,
            taken: false,
        }
    }

    /// Keeps a permit from all requests: a free one, or the next that is released.
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

    /// A waiter gives up. It stays in the queue until there are many of them.
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

    fn is_ready(acquire: &mut Acquire) -> bool {
        Pin::new(acquire)
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
        assert!(!semaphore.try_acquire(), "the waiter goes first");
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
