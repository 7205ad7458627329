//! The layout of a scoreboard, in words of 8 bytes.
//!
//! ```text
//! header    0 magic and version   1 slots   2 id of the request that computes, 0 if none does
//!           8.. counters, in the order of `Counter`
//! row       0 sequence: odd while the row is written   1 start in ns of CLOCK_MONOTONIC_COARSE, 0 if free
//!           2 request id   3 lengths   4.. method   6 fingerprint   7 epoch of the quarantine, twice; odd: tried again
//!           8.. target
//! latencies behind the rows, see `latencies`
//! ```

use crate::latencies::LATENCY_WORDS;

/// The magic: "HSCORE", then the version of this layout.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HSCORE\x03\x00");

pub(crate) const HEADER: usize = 64;
pub(crate) const AT_MAGIC: usize = 0;
pub(crate) const AT_SLOTS: usize = 1;
pub(crate) const AT_COMPUTES: usize = 2;
pub(crate) const AT_COUNTERS: usize = 8;

pub(crate) const ROW: usize = 32;
pub(crate) const ROW_SEQUENCE: usize = 0;
pub(crate) const ROW_START: usize = 1;
pub(crate) const ROW_ID: usize = 2;
pub(crate) const ROW_LENGTHS: usize = 3;
pub(crate) const ROW_METHOD: usize = 4;
pub(crate) const ROW_FINGERPRINT: usize = 6;
pub(crate) const ROW_EPOCH: usize = 7;
pub(crate) const ROW_TARGET: usize = 8;

/// Bytes of a method that a row has room for.
pub(crate) const MAX_METHOD: usize = (ROW_FINGERPRINT - ROW_METHOD) * 8;
/// Bytes of a target that a row has room for.
pub(crate) const MAX_TARGET: usize = (ROW - ROW_TARGET) * 8;
/// The most requests in flight that a scoreboard can list.
pub(crate) const MAX_SLOTS: u32 = 1 << 16;

pub(crate) fn words(slots: u32) -> usize {
    latencies(slots) + LATENCY_WORDS
}

/// Returns the position of the latencies.
pub(crate) fn latencies(slots: u32) -> usize {
    HEADER + slots as usize * ROW
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The events that a worker counts. Each counter only rises; "open" and "in flight" are differences of two.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $name,)* }

        impl Counter {
            pub const ALL: &[Counter] = &[$(Counter::$name,)*];

            /// Returns the name in metrics.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$name => $text,)* }
            }
        }
    };
}

counters! {
    /// Requests begun.
    Requests = "requests",
    /// Requests ended, however they ended.
    Finished = "finished",
    /// Responses by class of their status.
    Responses1xx = "responses_1xx",
    Responses2xx = "responses_2xx",
    Responses3xx = "responses_3xx",
    Responses4xx = "responses_4xx",
    Responses5xx = "responses_5xx",
    /// Requests that ended without a response: the client had gone.
    Aborted = "aborted",
    /// Requests that found no free row in the table of those in flight.
    Unlisted = "unlisted",
    ConnectionsOpened = "connections_opened",
    ConnectionsClosed = "connections_closed",
    /// Body bytes received.
    BytesIn = "bytes_in",
    /// Body bytes sent.
    BytesOut = "bytes_out",
    /// Tasks started beside the requests' own (`async`, timers, `defer`).
    Tasks = "tasks",
    TasksFinished = "tasks_finished",
    /// Requests that ran into the time limit.
    Timeouts = "timeouts",
    /// Uncaught exceptions.
    Exceptions = "exceptions",
    /// Fatal PHP errors, memory exhaustion included.
    Fatal = "fatal",
    /// Requests that had to wait for a worker, those of them that no longer wait, and the sum of their waits.
    Queued = "queued",
    Unqueued = "unqueued",
    QueuedMicroseconds = "queued_microseconds",
    /// Responses that the front sent in place of a worker: 502, 503.
    BadGateway = "bad_gateway",
    Unavailable = "unavailable",
    /// Requests with a 503 because they had waited for the maximum time.
    QueueTimeouts = "queue_timeouts",
    /// Requests that were given to a second worker because the first had exited.
    Retries = "retries",
    /// Requests that were not run, because they had killed two workers.
    Quarantined = "quarantined",
    /// Requests that ran for longer than `log.slow_after`.
    Slow = "slow",
}

const _: () = assert!(AT_COUNTERS + Counter::ALL.len() <= HEADER);
