//! The load generator against servers whose truth is known.
#![forbid(unsafe_code)]

mod cli;
mod connections;
mod errors;
mod extras;
mod guide;
mod http2;
mod latency;
mod peers;
mod requests;
mod tls;
mod tool;
mod truth;
