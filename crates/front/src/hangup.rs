//! A client that has ended its sending before its answer: it has left, or it only has no more to say. Which of the two, TCP
//! does not tell before a write fails.
//!
//! Under php-fpm a request that nginx has passed on is run, whatever its client does meanwhile, and clients count on that:
//! they send a request and do not wait for the answer. So what is not safe to leave out is run when its turn comes. A request
//! that a worker has is told that its client has left, and what it answers all the same is sent.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use server::access::Spent;

use crate::dispatch::Workers;
use crate::pending::PendingRequest;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// No worker had the request yet.
    Early,
    /// Its worker was told.
    Late,
}

/// Of one request.
#[derive(Default)]
pub(crate) struct Hangup {
    /// Nothing is lost if it is not run.
    is_optional: bool,
    pending: RefCell<Option<Rc<PendingRequest>>>,
    left: Cell<Option<Left>>,
    /// Nothing of the request goes on.
    is_over: Cell<bool>,
}

impl Hangup {
    /// `is_optional`: it need not be run once its client has left.
    pub(crate) fn new(is_optional: bool) -> Hangup {
        Hangup {
            is_optional,
            ..Hangup::default()
        }
    }

    pub(crate) fn posted(&self, pending: &Rc<PendingRequest>) {
        self.pending.replace(Some(Rc::clone(pending)));
    }

    /// Where the time of the request went.
    pub(crate) fn spent(&self) -> Spent {
        let pending = self.pending.borrow();
        let spent = pending.as_ref().map(|pending| pending.spent.get());
        spent.unwrap_or_default()
    }

    /// Its worker has given it up, or has died: true if there is no client to be told.
    pub(crate) fn is_end(&self) -> bool {
        let is_end = self.left.get() == Some(Left::Late);
        self.is_over.set(is_end);
        is_end
    }

    /// The client has ended its sending: whether the request goes on, and its answer may still be wanted.
    pub(crate) fn goes_on(&self, workers: &Workers) -> bool {
        if self.left.get().is_some() {
            return !self.is_over.get();
        }
        let pending = self.pending.borrow();
        if let Some(pending) = pending
            .as_ref()
            .filter(|pending| workers.is_claimed(pending))
        {
            self.left.set(Some(Left::Late));
            workers.cancel(pending);
            return true;
        }
        self.left.set(Some(Left::Early));
        // A worker that was idle has it at once: the answer to a client that only has no more to say comes soon.
        let waits = pending.as_ref().is_none_or(|pending| pending.waits());
        !(self.is_optional && waits)
    }
}
