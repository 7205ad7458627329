//! A run of `hearth bench`: its types and their schema, the statistics over its repeats, and how it is shown.
//!
//! The program that measures fills in a [`Run`] and computes nothing from it; everything that a reader sees is computed here,
//! from the repeats. Nothing here starts a process or opens a connection.
#![forbid(unsafe_code)]

pub mod advice;
mod beside;
pub mod caveats;
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

/// The JSON schema of what `hearth bench --json` writes.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Run)
}
