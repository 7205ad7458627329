//! The cache that all workers share: entries in shared memory, evicted by S3-FIFO when it is full.
//!
//! Memory is divided into cells of one size, and an entry is a chain of them, so nothing fragments. Writers, and readers
//! that copy a value, hold one lock, which survives the death of its holder. A reader that has a copy takes no lock: each
//! entry has a **sequence number**, which is never used twice, and a copy is valid for as long as the number is unchanged.
//!
//! The sequence numbers alone define the content of the cache: an entry exists from the store of its number to the store
//! of a 0, and its cells are written before and freed after. Everything else (index, queues, free cells) is derived, and is
//! rebuilt after a process died while it held the lock. So a process killed at any moment leaves the old value or the new
//! one.
#![forbid(unsafe_code)]
// The feature `model` is for tests only, and leaves code unused.
#![cfg_attr(feature = "model", allow(dead_code))]

mod batch;
mod cache;
mod claims;
mod counters;
mod entry;
mod eviction;
#[cfg(not(feature = "model"))]
mod file;
mod geometry;
mod index;
mod lists;
mod memory;
mod numbers;
mod operation;
mod owner;
mod payload;
mod recovery;
mod report;
mod sessions;
mod tier;
mod value;
mod words;
mod write;

#[cfg(all(test, feature = "model"))]
mod interleavings;

pub use batch::{Known, Placed};
pub use cache::Cache;
pub use claims::Claim;
pub use counters::Counter;
pub use entry::{Encoding, Space};
pub use operation::{Condition, Found, Refused, Stored, Validator, Write};
pub use owner::Owner;
pub use report::{Entry, Stats};
pub use sessions::Locked;
pub use tier::Tier;
pub use value::describe;
