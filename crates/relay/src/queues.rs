//! The queues that one worker claims from: one of each thread of the front, and for a moment those of its successor.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::consumer::Consumer;
use crate::layout::RINGS;
use crate::memory::{RequestKey, now};

/// `T` is what belongs to one queue, the worker's consumer there included.
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

impl<T: AsRef<Consumer>> Queues<T> {
    /// One more, with what was published of this worker so far.
    pub fn add(&self, queue: Rc<T>, room: u32) {
        consumer_of(&queue).set_capacity(room);
        consumer_of(&queue).set_running(true);
        self.all.borrow_mut().push(queue);
    }

    /// Its front is gone.
    pub fn remove(&self, queue: &Rc<T>) {
        let mut all = self.all.borrow_mut();
        all.retain(|other| !Rc::ptr_eq(other, queue));
        self.first.set(0);
    }

    /// The next request, and where it comes from: of all queues those that are repeated, and then one of each queue in turn.
    pub fn claim(&self) -> Option<(Rc<T>, RequestKey)> {
        let all = self.all.borrow();
        let first = self.first.get();
        for priority in 0..RINGS {
            for step in 0..all.len() {
                let at = (first + step) % all.len();
                let consumer = consumer_of(&all[at]);
                if let Some(key) = consumer.claim_of(priority) {
                    self.first.set((at + 1) % all.len());
                    let now = now();
                    consumer.has_claimed(key, now);
                    all.iter().for_each(|queue| consumer_of(queue).begins(now));
                    return Some((Rc::clone(&all[at]), key));
                }
            }
        }
        None
    }

    /// About to wait for a wake-up from any of them; false if there is something to claim instead.
    pub fn sleep(&self) -> bool {
        let may_sleep = self
            .all
            .borrow()
            .iter()
            .all(|queue| consumer_of(queue).sleep());
        if !may_sleep {
            self.mark_awake();
        }
        may_sleep
    }

    /// It does not wait any more.
    pub fn mark_awake(&self) {
        self.all
            .borrow()
            .iter()
            .for_each(|queue| consumer_of(queue).mark_awake());
    }

    /// Publishes how many requests this worker may take beside those that it has.
    pub fn set_capacity(&self, room: u32) {
        self.all
            .borrow()
            .iter()
            .for_each(|queue| consumer_of(queue).set_capacity(room));
    }

    /// Publishes whether this worker computes, or waits for something.
    pub fn set_running(&self, runs: bool) {
        self.all
            .borrow()
            .iter()
            .for_each(|queue| consumer_of(queue).set_running(runs));
    }
}

fn consumer_of<T: AsRef<Consumer>>(queue: &Rc<T>) -> &Consumer {
    (**queue).as_ref()
}
