//! A limited number of things, such as permits or slots, and a queue of waiters: first come, first served.
//!
//! A waiter that is dropped after it was given a thing passes the thing on.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Idle things, and a queue for when there are none.
pub struct WaitQueue<T> {
    idle: RefCell<Vec<T>>,
    waiters: RefCell<VecDeque<Rc<Waiter<T>>>>,
    waiting: Cell<usize>,
}

struct Waiter<T> {
    given: RefCell<Option<T>>,
    left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A future that waits in the queue; ready when it is given a thing.
pub struct Acquire<T> {
    queue: Rc<WaitQueue<T>>,
    waiter: Rc<Waiter<T>>,
}

impl<T> WaitQueue<T> {
    /// Makes a queue with these things, all idle.
    pub fn new(idle: impl IntoIterator<Item = T>) -> Rc<WaitQueue<T>> {
        Rc::new(WaitQueue {
            idle: RefCell::new(idle.into_iter().collect()),
            waiters: RefCell::default(),
            waiting: Cell::new(0),
        })
    }

    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.waiting.get()
    }

    pub fn has_waiters(&self) -> bool {
        self.waiting.get() > 0
    }

    /// Takes an idle thing. While there are waiters, no thing is idle.
    pub fn try_acquire(&self) -> Option<T> {
        self.idle.borrow_mut().pop()
    }

    /// Joins the queue; `first`: before all other waiters.
    pub fn acquire(self: &Rc<Self>, first: bool) -> Acquire<T> {
        let waiter = Rc::new(Waiter {
            given: RefCell::new(None),
            left: Cell::new(false),
            waker: RefCell::new(None),
        });
        self.waiting.set(self.waiting.get() + 1);
        let mut waiters = self.waiters.borrow_mut();
        if waiters.len() > 2 * self.waiting.get() + 16 {
            waiters.retain(|waiter| !waiter.left.get());
        }
        if first {
            waiters.push_front(Rc::clone(&waiter));
        } else {
            waiters.push_back(Rc::clone(&waiter));
        }
        Acquire {
            queue: Rc::clone(self),
            waiter,
        }
    }

    /// Keeps one thing from all others until the result is dropped: an idle thing, or the next that is released.
    pub fn hold(self: &Rc<Self>) -> Acquire<T> {
        let idle = self.try_acquire();
        if idle.is_none() {
            return self.acquire(true);
        }
        let waiter = Waiter {
            given: RefCell::new(idle),
            left: Cell::new(false),
            waker: RefCell::new(None),
        };
        Acquire {
            queue: Rc::clone(self),
            waiter: Rc::new(waiter),
        }
    }

    /// Gives the idle `thing` to the longest waiter, if there is one.
    pub fn release(&self, thing: T) {
        let next = loop {
            match self.waiters.borrow_mut().pop_front() {
                Some(waiter) if waiter.left.get() => {}
                next => break next,
            }
        };
        let Some(waiter) = next else {
            self.idle.borrow_mut().push(thing);
            return;
        };
        self.waiting.set(self.waiting.get() - 1);
        waiter.given.replace(Some(thing));
        if let Some(waker) = waiter.waker.take() {
            waker.wake();
        }
    }
}

impl<T> Future for Acquire<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Some(thing) = self.waiter.given.take() {
            return Poll::Ready(thing);
        }
        self.waiter.waker.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl<T> Drop for Acquire<T> {
    fn drop(&mut self) {
        if self.waiter.left.replace(true) {
            return;
        }
        match self.waiter.given.take() {
            Some(thing) => self.queue.release(thing),
            // The waiter is still in the queue, unless it was given a thing and has taken it.
            None if Rc::strong_count(&self.waiter) > 1 => {
                self.queue.waiting.set(self.queue.waiting.get() - 1)
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(acquire: &mut Acquire<u32>) -> Option<u32> {
        match Pin::new(acquire).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(thing) => Some(thing),
            Poll::Pending => None,
        }
    }

    #[test]
    fn last_used_first() {
        let queue = WaitQueue::new(1..=3);
        assert_eq!(queue.try_acquire(), Some(3));
        queue.release(3);
        assert_eq!(queue.try_acquire(), Some(3));
        assert_eq!(
            [
                queue.try_acquire(),
                queue.try_acquire(),
                queue.try_acquire()
            ],
            [Some(2), Some(1), None]
        );
    }

    #[test]
    fn first_come_first_served() {
        let queue = WaitQueue::new([]);
        let (mut a, mut b) = (queue.acquire(false), queue.acquire(false));
        let mut c = queue.acquire(true);
        queue.release(7);
        assert_eq!(
            [poll(&mut b), poll(&mut a), poll(&mut c)],
            [None, None, Some(7)]
        );
        drop(c);
        queue.release(8);
        assert_eq!([poll(&mut b), poll(&mut a)], [None, Some(8)]);
        drop(queue.acquire(false));
        queue.release(9);
        assert_eq!(poll(&mut b), Some(9));
        assert_eq!(queue.try_acquire(), None);
    }

    #[test]
    fn a_waiter_that_leaves_passes_the_turn_on() {
        let queue = WaitQueue::new([]);
        let a = queue.acquire(false);
        let b = queue.acquire(false);
        drop(a);
        let mut c = queue.acquire(false);
        queue.release(1);
        drop(b);
        assert_eq!(poll(&mut c), Some(1), "b was given it and left without it");
        drop(c);
        for _ in 0..1000 {
            drop(queue.acquire(false));
        }
        assert!(
            queue.waiters.borrow().len() < 30,
            "waiters that have left are forgotten"
        );
        queue.release(2);
        assert_eq!(queue.try_acquire(), Some(2));
        assert_eq!(queue.waiting.get(), 0);
    }

    #[test]
    fn what_is_held_is_released_at_the_end() {
        let queue = WaitQueue::new([1]);
        let held = queue.hold();
        let also = queue.hold();
        assert_eq!(queue.try_acquire(), None);
        let mut waits = queue.acquire(false);
        drop(held);
        assert_eq!(poll(&mut waits), None, "the other holds it now");
        drop(also);
        assert_eq!(poll(&mut waits), Some(1));
        queue.release(1);
        drop(queue.hold());
        let gives_up = queue.hold();
        assert_eq!((queue.try_acquire(), queue.waiting()), (None, 0));
        drop(gives_up);
        assert_eq!((queue.try_acquire(), queue.try_acquire()), (Some(1), None));
    }
}
