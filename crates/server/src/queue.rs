//! How many requests may wait for their turn, and for how long.
//!
//! The time is a controlled delay (CoDel): a queue that empties now and then takes up bursts, and each request may wait for
//! the whole time. One that does not empty only delays all that comes, so the limit is a tenth then.

use std::rc::Rc;
use std::time::{Duration, Instant};

use http1::Response;
use shm::{Counter, Writer};

/// The part of the time that remains while the queue does not empty.
const STANDING: u32 = 10;

/// `workers.queue` and `workers.queue_timeout`.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    pub length: usize,
    /// `Duration::MAX`: none.
    timeout: Duration,
}

/// Why a request does not get its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// As many wait as may.
    Full,
    /// It has waited for as long as it may.
    Expired,
}

impl QueueLimits {
    /// A timeout of zero is none.
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

    /// How long a request may wait in a queue that has not been empty for `filled`.
    #[must_use]
    pub fn time(&self, filled: Option<Duration>) -> Duration {
        match filled {
            Some(time) if time >= self.timeout => self.shortest(),
            _ => self.timeout,
        }
    }

    /// The limit of a queue that does not empty.
    #[must_use]
    pub fn shortest(&self) -> Duration {
        self.timeout / STANDING
    }
}

/// A request that waits, counted until this is dropped.
pub struct Waits {
    board: Rc<Writer>,
    since: Instant,
}

impl Waits {
    #[must_use]
    pub fn new(board: &Rc<Writer>) -> Waits {
        board.count(Counter::Queued, 1);
        Waits {
            board: Rc::clone(board),
            since: Instant::now(),
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        count_wait(&self.board, self.since.elapsed());
    }
}

/// A request that was counted as [`Counter::Queued`] waits no more.
pub fn count_wait(board: &Writer, time: Duration) {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    board.count(Counter::Unqueued, 1);
    board.count(Counter::QueuedMicroseconds, micros);
}

/// Makes of `response` the answer to a request that does not get its turn, and counts it.
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
