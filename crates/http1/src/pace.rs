//! The rate at which a client sends a body or reads a response, measured only while the server waits for the client.
//!
//! As with Apache's `MinRate` and Kestrel's data rates, a client that moves a byte now and then is no better than one that
//! moves none, and time that the server itself needs does not count against the client.

use std::cell::Cell;

use crate::connection_state::now_ms;

/// Milliseconds of waiting that a client has on top of those that the rate allows.
const GRACE: u64 = 20_000;

/// The slowest pace that a client may have.
#[derive(Debug, Clone, Copy)]
pub struct MinPace {
    /// The longest wait without a byte, in milliseconds.
    pub silence: u64,
    /// Bytes per second, after the first 20 seconds of waiting; 0 is no limit.
    pub rate: u64,
}

/// The pace of one direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When the current wait for the client began, or last saw bytes; 0 if the server does not wait.
    since: Cell<u64>,
    /// Milliseconds of waiting before `since`, and bytes moved by then, of this message.
    waited: Cell<u64>,
    moved: Cell<u64>,
}

impl Pace {
    /// Begins a message.
    pub(crate) fn begin(&self) {
        self.waited.set(0);
        self.moved.set(0);
    }

    /// Counts bytes that have moved; `waits`: the server waits for more.
    pub(crate) fn moved(&self, bytes: usize, waits: bool) {
        let since = self.since.get();
        if since == 0 {
            if waits {
                self.since.set(now_ms());
            }
            return;
        }
        if bytes == 0 && waits {
            return;
        }
        let now = now_ms();
        self.waited
            .set(self.waited.get() + now.saturating_sub(since));
        self.moved.set(self.moved.get() + bytes as u64);
        self.since.set(if waits { now } else { 0 });
    }

    /// Returns whether the server waits for the client and the client is too slow.
    pub(crate) fn is_below(&self, least: &MinPace, now: u64) -> bool {
        let since = self.since.get();
        if since == 0 {
            return false;
        }
        let silent = now.saturating_sub(since);
        let waited = self.waited.get() + silent;
        silent >= least.silence
            || least.rate > 0
                && waited >= GRACE + self.moved.get().saturating_mul(1000) / least.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: MinPace = MinPace {
        silence: 60_000,
        rate: 500,
    };

    /// Makes a pace with a wait since `since`, after `waited` milliseconds and `moved` bytes.
    fn pace(since: u64, waited: u64, moved: u64) -> Pace {
        Pace {
            since: Cell::new(since),
            waited: Cell::new(waited),
            moved: Cell::new(moved),
        }
    }

    #[test]
    fn a_silent_client_is_too_slow_and_one_that_is_not_waited_for_is_not() {
        assert!(pace(1, 0, 1_000_000).is_below(&LEAST, 60_001));
        assert!(!pace(1, 0, 1_000_000).is_below(&LEAST, 60_000));
        assert!(!pace(0, 1_000_000, 0).is_below(&LEAST, u64::MAX));
    }

    #[test]
    fn each_second_costs_so_many_bytes_after_the_first_twenty() {
        assert!(!pace(1, 19_000, 0).is_below(&LEAST, 1_000));
        assert!(pace(1, 19_000, 0).is_below(&LEAST, 1_001));
        assert!(!pace(1, 39_000, 10_000).is_below(&LEAST, 1_000));
        assert!(pace(1, 39_000, 10_000).is_below(&LEAST, 1_001));
        let any = MinPace { rate: 0, ..LEAST };
        assert!(!pace(1, 1_000_000, 0).is_below(&any, 2));
    }

    #[test]
    fn only_time_in_which_the_client_is_waited_for_counts() {
        let pace = Pace::default();
        pace.moved(10, false);
        assert_eq!((pace.since.get(), pace.moved.get()), (0, 0));
        pace.moved(0, true);
        let since = pace.since.get();
        assert!(since > 0);
        pace.moved(7, false);
        assert_eq!((pace.since.get(), pace.moved.get()), (0, 7));
        pace.begin();
        assert_eq!((pace.waited.get(), pace.moved.get()), (0, 0));
    }
}
