//! Clients that end their sending before the response: such a client has left, or it only has nothing more to send. TCP does
//! not tell which before a write fails.
//!
//! Under php-fpm a request that nginx has passed on is run, whatever its client does meanwhile, and clients rely on that:
//! they send a request and do not wait for the response. So a request that is not safe to skip is run when its turn comes. If
//! a worker has claimed the request, the front tells the worker that the client has left. A response that comes all the
//! same is sent.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use server::access::RequestTimes;

use crate::dispatch::Workers;
use crate::pending::PendingRequest;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Before a worker had claimed the request.
    Early,
    /// After a worker had claimed the request; the worker was notified.
    Late,
}

/// What the front knows about the hang-up of one request's client.
#[derive(Default)]
pub(crate) struct Hangup {
    /// Whether nothing is lost if the request is not run.
    is_optional: bool,
    pending: RefCell<Option<Rc<PendingRequest>>>,
    left: Cell<Option<Left>>,
    /// Whether nothing of the request goes on.
    is_over: Cell<bool>,
}

impl Hangup {
    /// `is_optional`: the request need not be run once its client has left.
    pub(crate) fn new(is_optional: bool) -> Hangup {
        Hangup {
            is_optional,
            ..Hangup::default()
        }
    }

    pub(crate) fn posted(&self, pending: &Rc<PendingRequest>) {
        self.pending.replace(Some(Rc::clone(pending)));
    }

    /// Returns where the time of the request went.
    pub(crate) fn spent(&self) -> RequestTimes {
        let pending = self.pending.borrow();
        let spent = pending.as_ref().map(|pending| pending.spent.get());
        spent.unwrap_or_default()
    }

    /// Notes that the worker has given the request up, or has died; returns true if there is no client to be told.
    pub(crate) fn is_end(&self) -> bool {
        let is_end = self.left.get() == Some(Left::Late);
        self.is_over.set(is_end);
        is_end
    }

    /// Handles a client's end of sending; returns whether the request goes on and its response may still be wanted.
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
        // An idle worker claims the request at once, so a client that only has nothing more to send soon gets its response.
        let waits = pending.as_ref().is_none_or(|pending| pending.waits());
        !(self.is_optional && waits)
    }
}
