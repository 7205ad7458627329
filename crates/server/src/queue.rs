//! Limits of a queue: how many requests may wait for their turn, and for how long.
//!
//! The time is a controlled delay (CoDel): a queue that empties now and then absorbs bursts, and each request may wait for
//! the whole time. A queue that does not empty only delays all requests, so each may wait for a tenth of the time.

use std::rc::Rc;
use std::time::{Duration, Instant};

use http1::Response;
use shm::{Counter, Writer};

/// The divisor of the time while the queue does not empty.
const STANDING: u32 = 10;

/// The settings `workers.queue` and `workers.queue_timeout`.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    pub length: usize,
    /// How long a request may wait in a queue that empties; `Duration::MAX` is no limit.
    timeout: Duration,
}

/// Why a request does not get its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// As many requests wait as are allowed.
    Full,
    /// The request has waited for as long as is allowed.
    Expired,
}

impl QueueLimits {
    /// Makes limits; a timeout of zero is no limit.
    #[must_use]
    pub fn new(length: u32, timeout: Duration) -> QueueLimits {
        QueueLimits {
            length: length as usize,
            timeout: match timeout {
                Duration::ZERO => Duration::MAX,
                some => some,
            },
        }
    }

    /// Returns how long a request may wait in a queue that has not been empty for `filled`.
    #[must_use]
    pub fn time(&self, filled: Option<Duration>) -> Duration {
        match filled {
            Some(time) if time >= self.timeout => self.shortest(),
            _ => self.timeout,
        }
    }

    /// Returns how long a request may wait in a queue that does not empty.
    #[must_use]
    pub fn shortest(&self) -> Duration {
        self.timeout / STANDING
    }
}

/// A request that waits, and counts as waiting until this is dropped.
pub struct QueuedGuard {
    board: Rc<Writer>,
    since: Instant,
}

impl QueuedGuard {
    #[must_use]
    pub fn new(board: &Rc<Writer>) -> QueuedGuard {
        board.count(Counter::Queued, 1);
        QueuedGuard {
            board: Rc::clone(board),
            since: Instant::now(),
        }
    }
}

impl Drop for QueuedGuard {
    fn drop(&mut self) {
        count_wait(&self.board, self.since.elapsed());
    }
}

/// Counts the end of the wait of a request that was counted as [`Counter::Queued`].
pub fn count_wait(board: &Writer, time: Duration) {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    board.count(Counter::Unqueued, 1);
    board.count(Counter::QueuedMicroseconds, micros);
}

/// Makes `response` the response to a request that does not get its turn, and counts the request.
pub fn unavailable<B>(why: Refused, board: &Writer, mut response: Response<B>) -> Response<B> {
    board.count(Counter::Unavailable, 1);
    if why == Refused::Expired {
        board.count(Counter::QueueTimeouts, 1);
    }
    // Seconds after which a client may try again.
    response.head.fields.push("Retry-After", "1");
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_does_not_empty_has_a_tenth_of_the_time() {
        let timeout = Duration::from_millis(200);
        let limits = QueueLimits::new(1, timeout);
        for (filled, time) in [
            (None, timeout),
            (Some(timeout / 2), timeout),
            (Some(timeout), timeout / 10),
        ] {
            assert_eq!(limits.time(filled), time, "{filled:?}");
        }
        let none = QueueLimits::new(1, Duration::ZERO);
        assert_eq!(none.time(Some(Duration::from_secs(1))), Duration::MAX);
    }
}
