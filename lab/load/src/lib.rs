//! The load generator: ab, wrk and wrk2 in one, with honest latency.
//!
//! It shares no code with the server, so that a mistake in one cannot hide a mistake in the other.
#![forbid(unsafe_code)]

mod bare;
mod cli;
mod clock;
mod collect;
mod control;
mod engine;
mod expect;
mod h2engine;
#[doc(hidden)] // for fuzz/
pub mod http1;
mod mix;
mod plan;
mod procfs;
mod record;
mod request;
mod result;
mod run;
mod schedule;
mod sweep;
mod target;
mod tls;
mod transport;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

pub use expect::Expect;
pub use mix::Line;
pub use plan::{Http, Order, Pace, Plan, Think, Tls, Warmup, Watch};
pub use request::{Parts, Request, multipart};
pub use run::{Live, execute};
pub use schedule::{Spacing, Stage};
pub use target::{Address, Target, Url};

/// Runs `hearth load` with the arguments `args`.
#[must_use]
pub fn main_from(args: impl Iterator<Item = OsString>) -> ExitCode {
    cli::main_from(args)
}

/// Returns the options of `hearth load`, for completions and manual pages.
#[must_use]
pub fn command() -> clap::Command {
    cli::command()
}

/// Returns the JSON schema of the file that `--json` writes.
#[must_use]
pub fn result_schema() -> schemars::Schema {
    schemars::schema_for!(measure::ResultFile)
}
