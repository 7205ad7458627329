//! The load generator as a program of its own, for tests and measurements of this crate.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    load::main_from(std::env::args_os().skip(1))
}
