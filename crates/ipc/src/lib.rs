//! Messages and descriptor passing between Hearth's processes.
//!
//! Every channel is one end of a `SOCK_SEQPACKET` pair, so a message is a packet: it arrives whole or not at all, and the
//! exit of the other process is seen as EOF. Messages are JSON: they are rare (start, stop, the death of a process), and
//! readable in `strace`.
//!
//! The supervisor talks to the zygote ([`ToZygote`], [`FromZygote`]) and to each worker ([`ToWorker`], [`FromWorker`]). With
//! balanced dispatch it also talks to the front ([`ToFront`], [`FromFront`]), and the front to each worker
//! ([`FrontToWorker`]). With direct dispatch the workers talk to each other ([`HandOff`]). Requests and responses go through
//! shared memory (the crate `relay`). Counters are no messages; they are in the scoreboard, which workers write without a
//! system call.
#![forbid(unsafe_code)]

mod cache_memory;
mod channel;
mod message;

pub use cache_memory::{request_cache_memory, send_cache};
pub use channel::{Channel, Error, MAX_DESCRIPTORS};
pub use message::{
    Boot, BootFailure, Booted, CONCURRENT, Drain, FromFront, FromWorker, FromZygote, FrontSettings,
    FrontStart, FrontToWorker, HandOff, ToFront, ToWorker, ToZygote,
};
