//! The laboratory behind `hearth bench`: servers started privately side by side, the same work on each, measured in turn.
//!
//! It shares no code with the server, so that a mistake in one cannot hide a mistake in the other.
#![forbid(unsafe_code)]

mod apps;
mod calibration;
mod ceiling;
mod check;
mod cli;
mod database;
mod doctor;
mod guard;
mod host;
mod limit;
mod live;
mod load;
mod matrix;
mod nginx;
mod output;
mod preload_lists;
mod probe;
mod problem;
mod process;
mod procfs;
mod proxy;
mod quiet;
mod request_count;
mod run_dir;
mod runtimes;
mod saved_runs;
mod scenarios;
mod schedule;
mod session;
mod trial;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `hearth bench` with the arguments `args`.
#[must_use]
pub fn main_from(args: impl Iterator<Item = OsString>) -> ExitCode {
    cli::main_from(args.collect())
}

/// Returns the options of `hearth bench`, for completions and manual pages.
#[must_use]
pub fn command() -> clap::Command {
    <cli::Args as clap::CommandFactory>::command()
}
