//! The outcome of a request and its response, for the access log and the counters.

use std::time::{Duration, Instant};

use crate::cached_time::cached_time;

/// A request and its response, once both are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the request's head was complete.
    pub began: Instant,
    /// The status of the response; `None` if the client left before a response began.
    pub status: Option<u16>,
    /// Bytes of the request's body that were read.
    pub received: u64,
    /// Bytes of the response's body that were written to the socket.
    pub sent: u64,
    /// Whether the whole response was written.
    pub is_complete: bool,
}

impl Exchange {
    pub(crate) fn begin() -> Exchange {
        Exchange {
            began: cached_time(),
            status: None,
            received: 0,
            sent: 0,
            is_complete: false,
        }
    }

    /// Returns how long the exchange took so far.
    #[must_use]
    pub fn time(&self) -> Duration {
        cached_time().saturating_duration_since(self.began)
    }

    /// Returns the status for a log: 499, as in nginx, if the client left before the response.
    #[must_use]
    pub fn status_or_gone(&self) -> u16 {
        self.status.unwrap_or(499)
    }
}
