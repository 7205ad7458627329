//! A request with its answer, once both are over: for who counts and logs them.

use std::time::{Duration, Instant};

use crate::turn::turn_time;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the request's head had come.
    pub began: Instant,
    /// Of the answer; `None` if none was begun: the client has left before.
    pub status: Option<u16>,
    /// Bytes of the request's body that were read.
    pub received: u64,
    /// Bytes of the answer's body that were written to the socket.
    pub sent: u64,
    /// The answer was written to its end.
    pub is_complete: bool,
}

impl Exchange {
    pub(crate) fn begin() -> Exchange {
        Exchange {
            began: turn_time(),
            status: None,
            received: 0,
            sent: 0,
            is_complete: false,
        }
    }

    /// How long it took so far.
    #[must_use]
    pub fn time(&self) -> Duration {
        turn_time().saturating_duration_since(self.began)
    }

    /// The status for a log: 499, as nginx has it, where the client has left before the answer.
    #[must_use]
    pub fn status_or_gone(&self) -> u16 {
        self.status.unwrap_or(499)
    }
}
