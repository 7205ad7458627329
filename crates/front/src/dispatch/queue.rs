//! Requests that wait for a worker, within [`QueueLimits`].

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use relay::Reserved;
use server::queue::{QueueLimits, QueuedGuard, Refused};
use shm::Counter;
use tokio::sync::Notify;

use super::Workers;
use super::wakeup::WAKE_DELAY;
use crate::pending::PendingRequest;
use crate::shared::Thread;

/// The shortest and the longest interval at which waiting requests are checked; between them, a tenth of the shortest limit.
const CHECK_INTERVALS: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_millis(100));

/// This thread's queue: its limits. The time since the queue was empty is kept for all threads together.
pub(super) struct Queue {
    pub(super) limits: Cell<QueueLimits>,
    thread: Thread,
    first: Notify,
}

impl Queue {
    pub(super) fn new(thread: Thread) -> Queue {
        Queue {
            limits: Cell::new(QueueLimits::new(0, Duration::ZERO)),
            thread,
            first: Notify::new(),
        }
    }

    /// Notes that one more request waits; `waiting` is their number with this one.
    pub(super) fn enter(&self, now: Instant, waiting: usize) {
        self.thread.queue_filled(now);
        if waiting == 1 {
            self.first.notify_one();
        }
    }

    /// Notes that workers have claimed all requests that waited in this thread.
    pub(super) fn emptied(&self) {
        self.thread.set_waiting(0);
        self.thread.queue_emptied();
    }

    /// Returns how long a request may wait now.
    fn limit(&self) -> Duration {
        self.limits.get().time(self.thread.queue_filled_for())
    }

    fn pause(&self) -> Duration {
        let shortest = self.limits.get().shortest();
        (shortest / 10).clamp(CHECK_INTERVALS.0, CHECK_INTERVALS.1)
    }
}

/// Ends requests that have waited for too long.
pub(crate) async fn run(workers: Rc<Workers>) {
    let queue = &workers.queue;
    loop {
        if workers.unclaimed.get() == 0 {
            queue.first.notified().await;
        }
        tokio::time::sleep(queue.pause()).await;
        workers.expire(queue.limit());
    }
}

impl Workers {
    /// Reserves a slot for a request, first come, first served. With `again` (a retry), before all others and whatever the
    /// queue's length.
    pub(crate) async fn reserve(&self, again: bool) -> Result<Reserved, Refused> {
        let waiting = self.waiting();
        let length = self.queue.limits.get().length;
        if !again && waiting >= length {
            let room = self.dispatcher.idle_capacity();
            if waiting >= length + room {
                return Err(Refused::Full);
            }
        }
        if let Some(slot) = self.slot() {
            return Ok(slot);
        }
        let _waits = QueuedGuard::new(&self.board);
        let slot = tokio::time::timeout(self.queue.limit(), self.slots.acquire(again));
        self.publish_waiting();
        slot.await.map_err(|_| Refused::Expired)
    }

    /// Returns a free slot, if no request waits for one.
    fn slot(&self) -> Option<Reserved> {
        if self.slots.has_waiters() {
            return None;
        }
        self.slots
            .try_acquire()
            .or_else(|| self.dispatcher.reserve())
    }

    /// Gives free slots to requests that wait for one.
    pub(super) fn serve_slot_waiters(&self) {
        while self.slots.has_waiters() {
            let Some(slot) = self.dispatcher.reserve() else {
                return;
            };
            self.slots.release(slot);
        }
    }

    /// Returns how many requests wait for a worker, those of other threads included.
    fn waiting(&self) -> usize {
        self.publish_waiting() + self.thread.waiting_elsewhere()
    }

    /// Publishes to the other threads how many requests wait in this one, and returns that number.
    pub(super) fn publish_waiting(&self) -> usize {
        let here = self.unclaimed.get() + self.slots.waiting();
        self.thread.set_waiting(here);
        here
    }

    fn pending_requests(&self, which: impl Fn(&PendingRequest) -> bool) -> Vec<Rc<PendingRequest>> {
        let pending_requests = self.pending_requests.borrow();
        let pending_requests = pending_requests.iter().flatten();
        pending_requests
            .filter(|pending| which(pending))
            .cloned()
            .collect()
    }

    /// Counts as waiting the requests whose idle worker another thread's request took: two threads that post at the same
    /// moment count on the same worker, and only one of them gets it.
    pub(super) fn count_overlooked(&self) {
        let may_be = self.uncounted.get() > 0 && self.thread.number() > 1;
        if !may_be || self.dispatcher.idle_capacity() > 0 {
            return;
        }
        let overlooked = self
            .pending_requests(|pending| pending.is_overlooked(WAKE_DELAY))
            .len();
        self.uncounted.set(self.uncounted.get() - overlooked);
        self.board.count(Counter::Queued, overlooked as u64);
    }

    fn expire(&self, limit: Duration) {
        for pending in self.pending_requests(|pending| pending.waits_for(limit)) {
            if self.dispatcher.try_withdraw(pending.key) {
                self.claimed(&pending);
                self.forget(&pending);
                pending.expire();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queues_of_all_threads_are_one() {
        let threads = Thread::all(2);
        let [queue, other] = [0, 1].map(|n| Queue::new(threads[n].clone()));
        assert_eq!(queue.limit(), Duration::MAX);
        let timeout = Duration::from_millis(20);
        let limits = QueueLimits::new(1, timeout);
        queue.limits.set(limits);
        other.limits.set(limits);
        threads[0].set_waiting(1);
        queue.enter(Instant::now(), 1);
        assert_eq!(queue.limit(), timeout);
        std::thread::sleep(timeout);
        other.enter(Instant::now(), 1);
        assert_eq!((queue.limit(), other.limit()), (timeout / 10, timeout / 10));
        other.emptied();
        assert_eq!(other.limit(), timeout / 10, "some wait in the other thread");
        queue.emptied();
        assert_eq!((queue.limit(), other.limit()), (timeout, timeout));
        queue.limits.set(QueueLimits::new(1, Duration::ZERO));
        assert_eq!(queue.limit(), Duration::MAX);
    }
}
