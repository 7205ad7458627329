//! The cache as a process uses it: the memory that all workers share and, with `cache.redis`, the second tier behind it.
//!
//! Only the supervisor talks to the second tier, through one connection. Other processes send their questions to the
//! supervisor through stream sockets, one question at a time on each, so a task that waits for an answer is a task that
//! reads a socket. A process makes such a socket pair itself and sends one end through the **connector**, a socket that all
//! processes of a server inherit and whose other end is the supervisor's **listener**: this needs no path and no
//! permission, and a forked process makes sockets of its own.
#![forbid(unsafe_code)]

mod batch;
mod client;
mod listener;
mod messages;
mod tiered;

pub use client::{Client, Waiting};
pub use listener::{accept, listener};
pub use messages::{Answer, Question, WriteMessage, decode, encode};
pub use tiered::Tiered;
