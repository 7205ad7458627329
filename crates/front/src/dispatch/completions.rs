//! Handles what workers have done with requests: claimed, answered or ended them.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use relay::{Completion, RequestKey};
use server::access::RequestTimes;

use super::{Worker, Workers};
use crate::buffers::Buffer;
use crate::pending::PendingRequest;

impl Workers {
    /// Handles everything that workers have done since the last call, and wakes the workers that are needed.
    pub(crate) fn poll_completions(&self) {
        self.posted.set(0);
        self.dispatcher.drain_dequeued(|key| {
            if let Some(pending) = self.pending(key) {
                self.taken(&pending);
            }
        });
        self.dispatcher
            .drain_completions(|completion| self.on_completion(completion, Duration::ZERO));
        // Requests may wait for room in the rings, too.
        self.serve_slot_waiters();
        self.publish_waiting();
        self.wake();
    }

    /// Handles a completion. `after`: how long after the claim the worker died; zero if it is alive.
    pub(super) fn on_completion(&self, completion: Completion, after: Duration) {
        let Some(pending) = self.pending(completion.key) else {
            // No such request is pending: a worker writes where it should not.
            return;
        };
        self.taken(&pending);
        self.note_spent(&pending);
        if completion.answered && pending.is_open() {
            pending.answered(self.read(completion.key));
        }
        if completion.ended {
            pending.has_ended.set(true);
            self.finish(&pending, after);
        }
    }

    /// Copies the response out of the slot, into memory that several responses share.
    fn read(&self, key: RequestKey) -> Bytes {
        let mut bytes = Buffer::new();
        self.dispatcher.read(key, &mut bytes);
        let mut answers = self.answers.borrow_mut();
        answers.extend_from_slice(&bytes);
        answers.split().freeze()
    }

    /// Notes where the time of the request went, as far as its worker has published it.
    pub(crate) fn note_spent(&self, pending: &PendingRequest) {
        if self.measures.get() && self.pending(pending.key).is_some() {
            let (php, cpu) = self.dispatcher.spent(pending.key);
            let since_claim = self.dispatcher.claimed_for(pending.key);
            let queue = match pending.spent.get().queue {
                Duration::ZERO => pending.posted.elapsed().saturating_sub(since_claim),
                known => known,
            };
            pending.spent.set(RequestTimes { queue, php, cpu });
        }
    }

    /// Frees the slot once the worker has ended the request and the stream has delivered all of the response.
    pub(crate) fn finish(&self, pending: &Rc<PendingRequest>, after: Duration) {
        let is_over = pending.has_ended.get() && !pending.is_streaming();
        if is_over && self.pending(pending.key).is_some() {
            pending.lost(after);
            self.dispatcher.free(pending.key);
            self.forget(pending);
        }
    }

    /// Returns the request with this number, if this worker has claimed it.
    pub(crate) fn streaming(&self, worker: &Worker, number: u32) -> Option<Rc<PendingRequest>> {
        let find = || {
            let pending_requests = self.pending_requests.borrow();
            let mut pending_requests = pending_requests.iter().flatten();
            let pending = pending_requests.find(|pending| pending.key.seq == number)?;
            (self.dispatcher.owner_of(pending.key) == Some(worker.consumer))
                .then(|| Rc::clone(pending))
        };
        let pending = find()?;
        if pending.is_open() {
            // The head of the response is still in the slot.
            self.poll_completions();
        }
        Some(pending)
    }
}
