//! Slots that are free, and who waits for one: first come first served.
//!
//! Whoever leaves the line before his turn passes it on.

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
}

struct Place<T> {
    given: RefCell<Option<T>>,
    left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A place in the line; ready when it is its turn.
pub(crate) struct Turn<T> {
    line: Rc<Line<T>>,
    place: Rc<Place<T>>,
}

impl<T> Line<T> {
    pub(crate) fn new() -> Rc<Line<T>> {
        Rc::new(Line {
            idle: RefCell::default(),
            places: RefCell::default(),
            waiting: Cell::new(0),
        })
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.get()
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.get() > 0
    }

    /// Something idle. While anybody waits, nothing is.
    pub(crate) fn take(&self) -> Option<T> {
        self.idle.borrow_mut().pop()
    }

    /// Stand in line; `first` before all others.
    pub(crate) fn line_up(self: &Rc<Self>, first: bool) -> Turn<T> {
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
        Turn {
            line: Rc::clone(self),
            place,
        }
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
        let line = Line::new();
        (1..=3).for_each(|thing| line.put(thing));
        assert_eq!(line.take(), Some(3));
        line.put(3);
        assert_eq!(line.take(), Some(3));
        assert_eq!(
            [line.take(), line.take(), line.take()],
            [Some(2), Some(1), None]
        );
    }

    #[test]
    fn first_come_first_served() {
        let line = Line::new();
        let (mut a, mut b) = (line.line_up(false), line.line_up(false));
        let mut c = line.line_up(true);
        line.put(7);
        assert_eq!(
            [poll(&mut b), poll(&mut a), poll(&mut c)],
            [None, None, Some(7)]
        );
        drop(c);
        line.put(8);
        assert_eq!([poll(&mut b), poll(&mut a)], [None, Some(8)]);
        drop(line.line_up(false));
        line.put(9);
        assert_eq!(poll(&mut b), Some(9));
        assert_eq!(line.take(), None);
    }

    #[test]
    fn who_leaves_passes_the_turn_on() {
        let line = Line::new();
        let a = line.line_up(false);
        let b = line.line_up(false);
        drop(a);
        let mut c = line.line_up(false);
        line.put(1);
        drop(b);
        assert_eq!(poll(&mut c), Some(1), "b was given it and left without it");
        drop(c);
        for _ in 0..1000 {
            drop(line.line_up(false));
        }
        assert!(line.places.borrow().len() < 30, "who has left is forgotten");
        line.put(2);
        assert_eq!(line.take(), Some(2));
        assert_eq!(line.waiting.get(), 0);
    }
}
