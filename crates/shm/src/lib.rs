//! The shared memory of Hearth's processes: scoreboards, budgets, connection counts, the quarantine, and a lock.
//!
//! A scoreboard has the counters and the requests in flight of one worker, or of one thread of the front. The worker writes
//! without a system call, a lock or an allocation. The supervisor reads at any time, also after the worker was killed in the
//! middle of a request: so the log can name the requests that were in flight.
//!
//! A scoreboard has **one writer**, the worker's one thread ([`Writer`] is neither `Send` nor `Sync`), and any number of
//! readers. The sequence number of a row shows that it was read or left half-written.
#![deny(unsafe_code)]

mod budgets;
mod connection_counts;
mod latencies;
mod layout;
mod lock;
#[cfg_attr(miri, path = "mapping_in_miri.rs")]
mod mapping;
mod quarantine;
mod reader;
mod writer;

pub use budgets::{Budgets, Holder};
pub use connection_counts::{ConnectionCounts, SlotCount};
pub use latencies::{Histogram, LATENCY_BOUNDS, Latencies, ResponseClass};
pub use layout::Counter;
pub use lock::{Guard, LOCK_WORDS, create_lock, hold_for_life, is_held, lock};
pub use mapping::{Mapping, create_file};
pub use quarantine::{Fingerprint, Quarantine, Suspect};
pub use reader::{InFlight, Scoreboard, Snapshot};
pub use writer::{Begins, Ticket, Writer};
