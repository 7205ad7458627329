//! How many requests may wait for their turn in this worker, and for how long, with direct dispatch.
//!
//! The limits are those of the front's queue: `workers.queue`, and `workers.queue_timeout` or, while the queue does not
//! empty, a tenth of it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use shm::{Counter, Writer};
use tokio::time::{Sleep, sleep};

use crate::host::ProcessHost;
use crate::response::{HttpResponse, plain};
use crate::semaphore::{Acquire, LocalSemaphore};

/// The part of the time that remains while the queue does not empty.
const STANDING: u32 = 10;

/// The limits, and since when requests wait.
pub(crate) struct Queue {
    length: usize,
    /// Zero is no limit.
    timeout: Duration,
    filled: Cell<Option<Instant>>,
}

/// Why a request does not get its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// As many wait as may.
    Full,
    /// It has waited for as long as it may.
    Expired,
}

/// A request in line, until this is dropped.
pub(crate) struct Queued {
    turn: Acquire,
    since: Instant,
    expires: Option<Pin<Box<Sleep>>>,
    /// Where the wait is counted.
    board: Option<Rc<Writer>>,
}

impl Queue {
    pub(crate) fn new(length: u32, timeout: Duration) -> Queue {
        Queue {
            length: length as usize,
            timeout,
            filled: Cell::new(None),
        }
    }

    /// Wait for a place at this semaphore.
    pub(crate) fn join(
        &self,
        semaphore: &Rc<LocalSemaphore>,
        host: &'static ProcessHost,
    ) -> Result<Queued, Refused> {
        let waiting = semaphore.waiting();
        if waiting >= self.length {
            return Err(Refused::Full);
        }
        let now = Instant::now();
        if waiting == 0 {
            self.filled.set(Some(now));
        }
        host.count(Counter::Queued);
        Ok(Queued {
            turn: semaphore.acquire(),
            since: now,
            expires: self.limit(now).map(|limit| Box::pin(sleep(limit))),
            board: host.board.clone(),
        })
    }

    fn limit(&self, now: Instant) -> Option<Duration> {
        let stands = self
            .filled
            .get()
            .is_some_and(|since| now.duration_since(since) >= self.timeout);
        let limit = if stands {
            self.timeout / STANDING
        } else {
            self.timeout
        };
        (!limit.is_zero()).then_some(limit)
    }
}

impl Queued {
    /// Of a request that has waited in the front: that wait was limited and counted.
    pub(crate) fn unlimited(semaphore: &Rc<LocalSemaphore>) -> Queued {
        Queued {
            turn: semaphore.acquire(),
            since: Instant::now(),
            expires: None,
            board: None,
        }
    }
}

impl Future for Queued {
    type Output = Result<(), Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if Pin::new(&mut self.turn).poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        match &mut self.expires {
            Some(expires) => expires
                .as_mut()
                .poll(context)
                .map(|()| Err(Refused::Expired)),
            None => Poll::Pending,
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if let Some(board) = &self.board {
            let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
            board.count(Counter::Unqueued, 1);
            board.count(Counter::QueuedMicroseconds, micros);
        }
    }
}

/// The answer to one that did not get its turn.
pub(crate) fn refused(why: Refused, host: &ProcessHost) -> HttpResponse {
    host.count(Counter::Unavailable);
    if why == Refused::Expired {
        host.count(Counter::QueueTimeouts);
    }
    let mut answer = plain(503, "Service Unavailable\n");
    // Seconds after which a client may try again.
    answer.head.fields.push("Retry-After", "1");
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_does_not_empty_has_a_tenth_of_the_time() {
        let queue = Queue::new(1, Duration::from_millis(200));
        let now = Instant::now();
        let timeout = Duration::from_millis(200);
        queue.filled.set(Some(now));
        assert_eq!(queue.limit(now), Some(timeout));
        assert_eq!(queue.limit(now + timeout), Some(timeout / 10));
        queue.filled.set(Some(now + timeout));
        assert_eq!(queue.limit(now + timeout), Some(timeout));
        assert_eq!(Queue::new(1, Duration::ZERO).limit(now), None);
    }
}
