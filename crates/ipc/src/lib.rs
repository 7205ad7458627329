//! Messages and descriptor passing between our processes.
//!
//! Every channel is one end of a `SOCK_SEQPACKET` pair, so a message is a packet: it arrives whole or not at all, and
//! the end of the other process is an end of file. Messages are JSON: they are rare (start, stop, a death), and a
//! person can read them in `strace`.
//!
//! The supervisor talks to the zygote ([`ToZygote`], [`FromZygote`]) and to each worker ([`ToWorker`],
//! [`FromWorker`]); in balanced dispatch also to the front ([`ToFront`], [`FromFront`]), and the front to each worker
//! ([`FrontToWorker`]); in direct dispatch workers to each other ([`HandOff`]). Requests and answers go through shared memory (the
//! crate `relay`). Counters do not travel here; they live in the scoreboard, which workers write without a call.
#![forbid(unsafe_code)]

mod cache_memory;
mod channel;
mod message;

pub use cache_memory::{ask_for_cache, send_cache};
pub use channel::{Channel, Error, MAX_DESCRIPTORS, MAX_MESSAGE};
pub use message::{
    Boot, BootFailure, Booted, CONCURRENT, Drain, FromFront, FromWorker, FromZygote, FrontSettings,
    FrontStart, FrontToWorker, HandOff, ToFront, ToWorker, ToZygote,
};
