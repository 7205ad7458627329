//! The queues that one worker claims from: one of each thread of the front, and for a moment those of its successor.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::layout::LANES;
use crate::memory::{Order, now};
use crate::seat::Seat;

/// `T` is what belongs to one queue, the worker's seat there included.
#[derive(Debug)]
pub struct Queues<T> {
    all: RefCell<Vec<Rc<T>>>,
    /// The one that is looked at first: the one after that of the last claim.
    first: Cell<usize>,
}

impl<T> Default for Queues<T> {
    fn default() -> Queues<T> {
        Queues {
            all: RefCell::default(),
            first: Cell::new(0),
        }
    }
}

impl<T: AsRef<Seat>> Queues<T> {
    /// One more, with what was published of this worker so far.
    pub fn add(&self, queue: Rc<T>, room: u32) {
        seat_of(&queue).set_room(room);
        seat_of(&queue).set_runs(true);
        self.all.borrow_mut().push(queue);
    }

    /// Its front is gone.
    pub fn remove(&self, queue: &Rc<T>) {
        let mut all = self.all.borrow_mut();
        all.retain(|other| !Rc::ptr_eq(other, queue));
        self.first.set(0);
    }

    /// The next request, and where it comes from: of all queues those that are repeated, and then one of each queue in turn.
    pub fn claim(&self) -> Option<(Rc<T>, Order)> {
        let all = self.all.borrow();
        let first = self.first.get();
        for lane in 0..LANES {
            for step in 0..all.len() {
                let at = (first + step) % all.len();
                let seat = seat_of(&all[at]);
                if let Some(order) = seat.claim_of(lane) {
                    self.first.set((at + 1) % all.len());
                    let now = now();
                    seat.has_claimed(order, now);
                    all.iter().for_each(|queue| seat_of(queue).begins(now));
                    return Some((Rc::clone(&all[at]), order));
                }
            }
        }
        None
    }

    /// About to wait for a wake-up from any of them; false if there is something to claim instead.
    pub fn sleep(&self) -> bool {
        let may_sleep = self.all.borrow().iter().all(|queue| seat_of(queue).sleep());
        if !may_sleep {
            self.rise();
        }
        may_sleep
    }

    /// It does not wait any more.
    pub fn rise(&self) {
        self.all
            .borrow()
            .iter()
            .for_each(|queue| seat_of(queue).rise());
    }

    /// Publishes how many requests this worker may take beside those that it has.
    pub fn set_room(&self, room: u32) {
        self.all
            .borrow()
            .iter()
            .for_each(|queue| seat_of(queue).set_room(room));
    }

    /// Publishes whether this worker computes, or waits for something.
    pub fn set_runs(&self, runs: bool) {
        self.all
            .borrow()
            .iter()
            .for_each(|queue| seat_of(queue).set_runs(runs));
    }
}

fn seat_of<T: AsRef<Seat>>(queue: &Rc<T>) -> &Seat {
    (**queue).as_ref()
}
