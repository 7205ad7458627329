//! The queues that one worker claims from: one for each thread of the front, and for a moment those of the next front too.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::consumer::Consumer;
use crate::layout::RINGS;
use crate::memory::{RequestKey, now};

/// The queues of one worker. `T` is what belongs to one queue, including the worker's consumer there.
#[derive(Debug)]
pub struct Queues<T> {
    all: RefCell<Vec<Rc<T>>>,
    /// The index of the queue to claim from first: the one after that of the last claim.
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
    /// Adds a queue, and publishes there that this worker runs and has room for `room` requests.
    pub fn add(&self, queue: Rc<T>, room: u32) {
        consumer_of(&queue).set_capacity(room);
        consumer_of(&queue).set_running(true);
        self.all.borrow_mut().push(queue);
    }

    /// Removes the queue of a front that has exited.
    pub fn remove(&self, queue: &Rc<T>) {
        let mut all = self.all.borrow_mut();
        all.retain(|other| !Rc::ptr_eq(other, queue));
        self.first.set(0);
    }

    /// Claims the next request; returns its queue too. Retried requests of all queues come first, then one of each queue in
    /// turn.
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

    /// Announces in all queues that this worker sleeps; returns false if there is a request to claim instead.
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

    /// Marks this worker as awake in all queues.
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
