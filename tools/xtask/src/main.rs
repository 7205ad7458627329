//! `cargo run -p xtask -- check-arrows | gen [--check]`: checks that a compiler cannot make, and generated pages.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arginfo;
mod arrows;
mod bindings;
mod dependencies;
mod fences;
mod generate;
mod names;
mod paths;
mod prose;
mod state_page;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: xtask check-arrows | gen [--check]";

/// The problems that a command found; empty is good.
type Problems = Vec<String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let problems = match words[..] {
        ["check-arrows"] => {
            let checkout = checkout();
            [
                arrows::check(),
                dependencies::check(),
                fences::check(checkout),
                names::check(checkout),
                paths::check(checkout),
                prose::check(checkout),
            ]
            .concat()
        }
        ["gen"] => generate::write(checkout()),
        ["gen", "--check"] => generate::check(checkout()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the top directory of the checkout.
fn checkout() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
