//! What is idle, and who waits for it: last used first, first come first served.
//!
//! Last used first, because that worker's memory is the warmest in the processor's caches, and the others can be
//! swapped out. Whoever leaves the line before his turn passes it on.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Idle things, and a line for when there are none.
pub(crate) struct Line<T> {
    idle: RefCell<Vec<T>>,
    places: RefCell<VecDeque<Rc<Place<T>>>>,
    waiting: Cell<usize>,
    limit: Cell<usize>,
}

struct Place<T> {
    given: RefCell<Option<T>>,
    left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// As many wait as may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// A place in the line; ready when it is its turn.
pub(crate) struct Turn<T> {
    line: Rc<Line<T>>,
    place: Rc<Place<T>>,
}

impl<T> Line<T> {
    pub(crate) fn new(limit: usize) -> Rc<Line<T>> {
        Rc::new(Line {
            idle: RefCell::default(),
            places: RefCell::default(),
            waiting: Cell::new(0),
            limit: Cell::new(limit),
        })
    }

    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.set(limit);
    }

    /// Something idle. While anybody waits, nothing is.
    pub(crate) fn take(&self) -> Option<T> {
        self.idle.borrow_mut().pop()
    }

    /// Stand in line; `first` before all others, whatever the limit.
    pub(crate) fn line_up(self: &Rc<Self>, first: bool) -> Result<Turn<T>, Full> {
        if !first && self.waiting.get() >= self.limit.get() {
            return Err(Full);
        }
        let place = Rc::new(Place {
            given: RefCell::new(None),
            left: Cell::new(false),
            waker: RefCell::new(None),
        });
        self.waiting.set(self.waiting.get() + 1);
        let mut places = self.places.borrow_mut();
        if places.len() > 2 * self.waiting.get() + 16 {
            places.retain(|place| !place.left.get());
        }
        if first {
            places.push_front(Rc::clone(&place));
        } else {
            places.push_back(Rc::clone(&place));
        }
        Ok(Turn {
            line: Rc::clone(self),
            place,
        })
    }

    /// It is idle: for whoever waits longest, if anybody does.
    pub(crate) fn put(&self, thing: T) {
        let next = loop {
            match self.places.borrow_mut().pop_front() {
                Some(place) if place.left.get() => {}
                next => break next,
            }
        };
        let Some(place) = next else {
            self.idle.borrow_mut().push(thing);
            return;
        };
        self.waiting.set(self.waiting.get() - 1);
        place.given.replace(Some(thing));
        if let Some(waker) = place.waker.take() {
            waker.wake();
        }
    }

    /// Forget the idle ones that are not wanted.
    pub(crate) fn retain(&self, wanted: impl FnMut(&T) -> bool) {
        self.idle.borrow_mut().retain(wanted);
    }
}

impl<T> Future for Turn<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Some(thing) = self.place.given.take() {
            return Poll::Ready(thing);
        }
        self.place.waker.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl<T> Drop for Turn<T> {
    fn drop(&mut self) {
        if self.place.left.replace(true) {
            return;
        }
        match self.place.given.take() {
            Some(thing) => self.line.put(thing),
            // Still in line, unless it was given something and has taken it.
            None if Rc::strong_count(&self.place) > 1 => {
                self.line.waiting.set(self.line.waiting.get() - 1)
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(turn: &mut Turn<u32>) -> Option<u32> {
        match Pin::new(turn).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(thing) => Some(thing),
            Poll::Pending => None,
        }
    }

    #[test]
    fn last_used_first() {
        let line = Line::new(1);
        (1..=3).for_each(|thing| line.put(thing));
        assert_eq!(line.take(), Some(3));
        line.put(3);
        assert_eq!(line.take(), Some(3));
        line.retain(|thing| *thing != 2);
        assert_eq!([line.take(), line.take()], [Some(1), None]);
    }

    #[test]
    fn first_come_first_served_up_to_the_limit() {
        let line = Line::new(2);
        let (mut a, mut b) = (line.line_up(false).unwrap(), line.line_up(false).unwrap());
        assert!(line.line_up(false).is_err());
        let mut c = line.line_up(true).unwrap();
        line.put(7);
        assert_eq!(
            [poll(&mut b), poll(&mut a), poll(&mut c)],
            [None, None, Some(7)]
        );
        drop(c);
        line.put(8);
        assert_eq!([poll(&mut b), poll(&mut a)], [None, Some(8)]);
        assert!(line.line_up(false).is_ok());
        line.put(9);
        assert_eq!(poll(&mut b), Some(9));
        assert_eq!(line.take(), None);
    }

    #[test]
    fn who_leaves_passes_the_turn_on() {
        let line = Line::new(2);
        let a = line.line_up(false).unwrap();
        let b = line.line_up(false).unwrap();
        drop(a);
        let mut c = line.line_up(false).expect("a has left");
        line.put(1);
        drop(b);
        assert_eq!(poll(&mut c), Some(1), "b was given it and left without it");
        drop(c);
        for _ in 0..1000 {
            drop(line.line_up(false).unwrap());
        }
        assert!(line.places.borrow().len() < 30, "who has left is forgotten");
        line.put(2);
        assert_eq!(line.take(), Some(2));
        assert_eq!(line.waiting.get(), 0);
    }
}
