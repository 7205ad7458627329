//! The cache as a process uses it: the memory that all workers share and, where there is one, the second tier behind it.
//!
//! The second tier is asked by the supervisor alone, which has the one connection to it. A process asks the supervisor through
//! stream sockets, one for each question that is under way, so a task that waits for an answer is a task that reads a socket.
//! A process makes such a pair itself and sends one end through the **intake**, a socket that all processes of a server inherit:
//! no path, no permission, and a copy of a process that was forked makes its own.
#![forbid(unsafe_code)]

mod batch;
mod client;
mod intake;
mod messages;
mod tiered;

pub use batch::Placed;
pub use client::{Client, Waiting};
pub use intake::{intake, receive};
pub use messages::{Answer, Question, Wanted, decode, encode};
pub use tiered::Tiered;
