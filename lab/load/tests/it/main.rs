//! The load generator against servers whose truth is known.
#![forbid(unsafe_code)]

mod cli;
mod errors;
mod extras;
mod guide;
mod latency;
mod peers;
mod protocols;
mod tool;
mod truth;
