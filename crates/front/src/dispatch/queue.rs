//! How many requests may wait for a worker, and for how long.
//!
//! The time is a controlled delay (CoDel): a queue that empties now and then takes up bursts, and each request may wait for
//! the whole time. One that does not empty only delays all that comes, so the limit is a tenth then.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use relay::Reserved;
use shm::{Counter, Writer};
use tokio::sync::Notify;

use super::Workers;
use crate::shared::Thread;

/// The part of the time that remains while the queue does not empty.
const STANDING: u32 = 10;
/// How often the oldest are looked at, while there are any: ten times in the shortest limit, within these.
const LOOKS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// Its limits. Since when it is not empty is known of all threads' queues together.
pub(super) struct Queue {
    length: Cell<usize>,
    timeout: Cell<Duration>,
    thread: Thread,
    first: Notify,
}

/// Why a request gets no worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// As many wait as may.
    Full,
    /// It has waited for as long as it may.
    Expired,
}

impl Queue {
    pub(super) fn new(thread: Thread) -> Queue {
        Queue {
            length: Cell::new(0),
            timeout: Cell::new(Duration::MAX),
            thread,
            first: Notify::new(),
        }
    }

    /// A timeout of zero is none.
    pub(super) fn set_limits(&self, length: usize, timeout: Duration) {
        self.length.set(length);
        self.timeout.set(match timeout {
            Duration::ZERO => Duration::MAX,
            some => some,
        });
    }

    /// A request waits: with it `waiting` do.
    pub(super) fn enter(&self, now: Instant, waiting: usize) {
        self.thread.queue_filled(now);
        if waiting == 1 {
            self.first.notify_one();
        }
    }

    /// Workers have taken all that waited in this thread.
    pub(super) fn emptied(&self) {
        self.thread.set_waiting(0);
        self.thread.queue_emptied();
    }

    /// How long a request may wait now.
    fn limit(&self) -> Duration {
        let timeout = self.timeout.get();
        match self.thread.queue_filled_for() {
            Some(time) if time >= timeout => timeout / STANDING,
            _ => timeout,
        }
    }

    fn pause(&self) -> Duration {
        let shortest = self.timeout.get() / STANDING;
        (shortest / 10).clamp(LOOKS.0, LOOKS.1)
    }
}

/// Answers those that have waited for too long.
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
    /// A slot for a request, in turn; `again` before all others, whatever the limit.
    pub(crate) async fn reserve(&self, again: bool) -> Result<Reserved, Refused> {
        let waiting = self.waiting();
        if !again && waiting >= self.queue.length.get() {
            let room = self.dispatcher.idle_capacity();
            if waiting >= self.queue.length.get() + room {
                return Err(Refused::Full);
            }
        }
        if let Some(slot) = self.slot() {
            return Ok(slot);
        }
        let _waits = Waits::new(&self.board);
        let slot = tokio::time::timeout(self.queue.limit(), self.slots.acquire(again));
        self.publish_waiting();
        slot.await.map_err(|_| Refused::Expired)
    }

    fn expire(&self, limit: Duration) {
        let late: Vec<_> = {
            let pending_requests = self.pending_requests.borrow();
            let late = pending_requests.iter().flatten();
            late.filter(|pending| pending.waits_for(limit))
                .cloned()
                .collect()
        };
        for pending in late {
            if self.dispatcher.try_withdraw(pending.key) {
                self.claimed(&pending);
                self.forget(&pending);
                pending.expire();
            }
        }
    }
}

/// Counts one that waits, until it does not.
struct Waits<'a> {
    board: &'a Writer,
    since: Instant,
}

impl<'a> Waits<'a> {
    fn new(board: &'a Writer) -> Waits<'a> {
        board.count(Counter::Queued, 1);
        let since = Instant::now();
        Waits { board, since }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        waited(self.board, self.since.elapsed());
    }
}

/// One waits no more.
pub(super) fn waited(board: &Writer, time: Duration) {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    board.count(Counter::Unqueued, 1);
    board.count(Counter::QueuedMicroseconds, micros);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_does_not_empty_has_a_tenth_of_the_time() {
        let threads = Thread::all(2);
        let [queue, other] = [0, 1].map(|n| Queue::new(threads[n].clone()));
        assert_eq!(queue.limit(), Duration::MAX);
        let timeout = Duration::from_millis(20);
        queue.set_limits(1, timeout);
        other.set_limits(1, timeout);
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
        queue.set_limits(1, Duration::ZERO);
        assert_eq!(queue.limit(), Duration::MAX);
    }
}
