//! Counters and requests in flight of one worker, in memory shared with the supervisor.
//!
//! The worker writes without a system call, a lock or an allocation; the supervisor reads when it wants to, also after
//! the worker was killed half-way through a request: that is how the log can name the requests that were in flight.
//!
//! One scoreboard has **one writer**: the worker's one thread ([`Writer`] is neither `Send` nor `Sync`). Readers are
//! any number. A row of the table that was read or left half-written shows by its sequence number.
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
pub use latencies::{Histogram, LATENCY_BOUNDS, Latencies, MAX_ROUTES, ResponseClass};
pub use layout::{Counter, MAX_METHOD, MAX_SLOTS, MAX_TARGET};
pub use lock::{Guard, LOCK_WORDS, create_lock, hold_for_life, is_held, lock};
pub use mapping::{Mapping, create_file};
pub use quarantine::{Fingerprint, Quarantine, Suspect};
pub use reader::{InFlight, Scoreboard, Snapshot};
pub use writer::{Begins, Ticket, Writer};
