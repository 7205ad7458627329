//! The protocol between front and workers: requests and responses in shared memory.
//!
//! A socket between front and worker costs both a system call for each direction, and the worker a sleep and a wake-up
//! for each request: more than PHP needs for a small script. Here the front posts requests in one queue, and a worker
//! that has nothing to do claims the next. The front assigns no request: a worker that computes claims nothing, so a slow
//! request delays no other, and under load workers go from one request to the next without sleeping. Only a worker that
//! sleeps is woken, by an eventfd. A worker may have several requests: it claims another while its requests wait for
//! something.
//!
//! ```text
//! Dispatcher (the front)                            Consumer (each worker)
//! reserve, write, post ──► queue of slots ──► claim, read        one compare-and-swap on the slot's state
//!                                             write, answered, ended
//! drain_completions ◄────────────────── list of slots ◄───
//! ```
//!
//! **A process may die at any moment.** A request is posted, or claimed by one worker whose number is in the same word: when
//! that worker dies, the front knows which requests died with it ([`Dispatcher::claimed_by`]). A worker that dies may leave
//! all else (the queue's head, the list) half done; the other processes carry on. The memory ends with its front: EOF on a
//! socket tells the workers that the front has exited, and the next front brings memory of its own.
//!
//! The slots carry bytes, to which only [`frame`] gives a meaning. This crate has no runtime; its users wait.
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
pub use dispatcher::{Completion, Dispatcher, Priority, Reserved, WorkerCounts};
pub use fds::{Received, recv_files, send_files};
pub use layout::{SLOT_CAPACITY, SLOTS};
pub use memory::RequestKey;
pub use queues::Queues;
