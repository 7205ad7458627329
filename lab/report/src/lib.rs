//! A run of `hearth bench`: its types and their schema, the statistics over its repeats, and its reports.
//!
//! The program that measures fills in a [`Run`] and computes nothing from it; every figure that a reader sees is computed
//! in this crate, from the repeats. This crate starts no process and opens no connection.
#![forbid(unsafe_code)]

pub mod advice;
mod baseline;
mod caveats;
pub mod cell;
pub mod claims;
pub mod compare;
mod html;
pub mod markdown;
mod metric;
pub mod progress;
pub mod readme;
mod run;
pub mod seeds;
pub mod stats;
pub mod sweep;
pub mod terminal;
pub mod usl;
pub mod words;

pub use html::html;
pub use markdown::markdown;
pub use run::*;

/// Returns the JSON schema of the file that `hearth bench --json` writes.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Run)
}
