//! Balanced dispatch: ends HTTP with clients and hands each request to an idle worker.
//!
//! A worker that answers one request at a time must not be chosen by the kernel, which knows nothing of busy and idle,
//! and must not be held by a client that sends or reads slowly. So this process takes whole requests, queues them in
//! order for whichever worker is idle to claim, and takes the response from it as fast as it comes.
//!
//! It is the program `hearth` under another command, started and kept alive by the supervisor; it links no PHP. One
//! thread runs everything, or each of several (`front.threads`). The way of a request: [`connection`] → [`exchange`] → [`workers`] → [`flight`] → [`reply`].
#![forbid(unsafe_code)]

mod channel;
mod clock;
mod connection;
mod departure;
mod exchange;
mod files;
mod flight;
mod forward;
mod line;
mod reply;
mod run;
mod shared;
mod store;
mod streamed;
mod threads;
mod upload;
mod workers;

pub use run::main;
