//! Requests from the front to its workers and answers back, through memory that they share.
//!
//! A socket between front and worker costs both a system call for each direction, and the worker a sleep and a wake-up
//! for each request: more than PHP needs for a small script. Here the front posts requests in one queue, and a worker
//! that has nothing to do claims the next. No worker is asked: one that computes claims nothing, so a slow request delays
//! no other, and under load workers go from one request to the next without sleeping. Only a worker that sleeps is woken,
//! by an eventfd. A worker may have several requests: it claims another while those that it has wait for something.
//!
//! ```text
//! Dispatcher (the front)                            Consumer (each worker)
//! reserve, write, post ──► queue of slots ──► claim, read        one compare-and-swap on the slot's state
//!                                             write, answered, ended
//! drain_completions ◄────────────────── list of slots ◄───
//! ```
//!
//! **Every moment is a good one to die.** A request is posted, or claimed by one worker whose number stands in the same
//! word: when that worker dies, the front knows what died with it ([`Dispatcher::claimed_by`]). All else (the queue's head, the
//! list) may be left half done by the dead; the others carry on. The front's death is the end of its memory: workers
//! hear of it by a socket, and the next front brings memory of its own.
//!
//! What the bytes mean is not this crate's business, nor is waiting: it has no runtime.
#![forbid(unsafe_code)]

mod consumer;
mod dispatcher;
mod fds;
pub mod frame;
mod layout;
mod memory;
mod queues;
mod words;

#[cfg(all(test, not(feature = "model")))]
mod tests;

#[cfg(all(test, feature = "model"))]
#[path = "tests/interleavings.rs"]
mod interleavings;

pub use consumer::{Consumer, Notify};
pub use dispatcher::{Completion, Dispatcher, Priority, Reserved, Staff};
pub use fds::{Received, recv_files, send_files};
pub use layout::{MAX_WORKERS, SLOT_CAPACITY, SLOTS};
pub use memory::RequestKey;
pub use queues::Queues;
