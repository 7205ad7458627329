//! Balanced dispatch: terminates HTTP and hands each request to an idle worker.
//!
//! A worker that answers one request at a time must not be chosen by the kernel, which does not know which worker is idle,
//! and must not be held by a client that sends or reads slowly. So the front receives whole requests, queues them in order
//! until an idle worker claims them, and reads the response as fast as the worker sends it.
//!
//! The front is the program `hearth` under another command, started and kept alive by the supervisor; it links no PHP. One
//! thread does everything; with `front.threads`, each of several threads does. The way of a request: [`connection`] →
//! [`proxy`] → [`dispatch`] → [`pending`] → [`response`].
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
