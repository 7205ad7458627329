//! Which sources a program was built from: the version and a hash of every file that goes into the programs.
//!
//! The processes of a server exchange it when they start, and those of different builds refuse each other. Only the two programs
//! depend on this crate and hand the id down: it changes with every source file, and each crate that depends on it is compiled again.
#![forbid(unsafe_code)]

/// `0.1.0+` and 16 hexadecimal digits.
pub const BUILD_ID: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("HEARTH_SOURCE_HASH"));
