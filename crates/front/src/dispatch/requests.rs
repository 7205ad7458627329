//! The life of a request in the queue: posted, claimed by a worker, perhaps cancelled or held, finished.

use std::rc::Rc;

use http1::Spool;
use relay::{Priority, RequestKey, Reserved};
use server::queue::count_wait;
use shm::Counter;

use super::Workers;
use crate::pending::PendingRequest;

/// Requests posted in a row before completions are polled.
const IN_A_ROW: u32 = 16;

impl Workers {
    /// Posts a request frame in `slot`. The response comes through the [`PendingRequest`].
    pub(crate) fn post(
        &self,
        slot: Reserved,
        frame: &[u8],
        files: &[Rc<Spool>],
        again: bool,
    ) -> Rc<PendingRequest> {
        let waits = self.unclaimed.get() + self.thread.waiting_elsewhere()
            >= self.dispatcher.idle_capacity();
        self.dispatcher.write(&slot, frame);
        let key = self.dispatcher.post(slot, priority(again));
        let pending = Rc::new(PendingRequest::new(key, waits, files.to_vec()));
        self.unclaimed.set(self.unclaimed.get() + 1);
        self.queue.enter(pending.posted, self.unclaimed.get());
        match waits {
            true => self.board.count(Counter::Queued, 1),
            false => self.uncounted.set(self.uncounted.get() + 1),
        }
        self.publish_waiting();
        self.enter(Rc::clone(&pending));
        self.posted.set(self.posted.get() + 1);
        if self.posted.get() >= IN_A_ROW {
            self.poll_completions();
        }
        pending
    }

    fn enter(&self, pending: Rc<PendingRequest>) {
        let mut pending_requests = self.pending_requests.borrow_mut();
        let at = usize::from(pending.key.slot);
        if pending_requests.len() <= at {
            pending_requests.resize(at + 1, None);
        }
        pending_requests[at] = Some(pending);
    }

    pub(super) fn pending(&self, key: RequestKey) -> Option<Rc<PendingRequest>> {
        let pending_requests = self.pending_requests.borrow();
        let pending = pending_requests.get(usize::from(key.slot))?.as_ref()?;
        (pending.key == key).then(|| Rc::clone(pending))
    }

    /// Withdraws from the queue a request whose client no longer waits for the response, or cancels it if it is claimed.
    pub(crate) fn abandon(&self, pending: &Rc<PendingRequest>) {
        if self.pending(pending.key).is_none() {
            return;
        }
        if self.dispatcher.try_withdraw(pending.key) {
            pending.has_only_waited();
            self.claimed(pending);
            self.forget(pending);
            return;
        }
        self.note_spent(pending);
        if let Some(consumer) = self.dispatcher.cancel(pending.key) {
            self.notify(consumer);
        }
    }

    /// Whether a worker has claimed the request.
    pub(crate) fn is_claimed(&self, pending: &PendingRequest) -> bool {
        self.pending(pending.key).is_none() || self.dispatcher.owner_of(pending.key).is_some()
    }

    /// Cancels a claimed request whose client has left.
    pub(crate) fn cancel(&self, pending: &PendingRequest) {
        if self.pending(pending.key).is_some()
            && let Some(consumer) = self.dispatcher.cancel(pending.key)
        {
            self.notify(consumer);
        }
    }

    /// Tells the worker to pause the response, because the client has not read enough of it. False if the worker was told
    /// before, or the request has ended.
    pub(crate) fn hold(&self, pending: &PendingRequest) -> bool {
        let is_known = self.pending(pending.key).is_some();
        is_known && self.dispatcher.hold(pending.key, true).is_some()
    }

    /// Tells the worker to go on with a response that was held.
    pub(crate) fn release(&self, pending: &PendingRequest) {
        if self.pending(pending.key).is_some()
            && let Some(consumer) = self.dispatcher.hold(pending.key, false)
        {
            self.notify(consumer);
        }
    }

    /// Counts a request as no longer waiting.
    pub(super) fn claimed(&self, pending: &PendingRequest) {
        if pending.claim() {
            self.unclaimed.set(self.unclaimed.get() - 1);
            match pending.waited() {
                Some(time) => count_wait(&self.board, time),
                None => self.uncounted.set(self.uncounted.get() - 1),
            }
        }
    }

    /// Notes that a worker has claimed the request.
    pub(super) fn taken(&self, pending: &PendingRequest) {
        self.claimed(pending);
        if self.unclaimed.get() == 0 {
            self.queue.emptied();
        }
    }

    /// Forgets a request whose slot is free again.
    pub(super) fn forget(&self, pending: &PendingRequest) {
        self.pending_requests.borrow_mut()[usize::from(pending.key.slot)] = None;
        self.serve_slot_waiters();
    }
}

fn priority(again: bool) -> Priority {
    if again {
        Priority::Retry
    } else {
        Priority::Normal
    }
}
