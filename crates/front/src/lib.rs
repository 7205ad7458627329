//! Balanced dispatch: ends HTTP with clients and hands each request to an idle worker.
//!
//! A worker that answers one request at a time must not be chosen by the kernel, which knows nothing of busy and idle,
//! and must not be held by a client that sends or reads slowly. So this process takes whole requests, queues them in
//! order until an idle worker claims them, and takes the response from it as fast as it comes.
//!
//! It is the program `hearth` under another command, started and kept alive by the supervisor; it links no PHP. One
//! thread runs everything, or each of several (`front.threads`). The way of a request: [`connection`] → [`proxy`] → [`dispatch`] → [`pending`] → [`response`].
#![forbid(unsafe_code)]

mod buffers;
mod connection;
mod dispatch;
mod files;
mod hangup;
mod headers;
mod pending;
mod process;
mod proxy;
mod response;
mod response_spool;
mod shared;
mod stream_reader;
mod threads;
mod tick;
mod upload;

pub use process::main;
