//! The program `hearth`: arguments become settings, settings become one call.
//!
//! Exit codes: 0 done, 1 the command ran and failed, 2 wrong usage or configuration.
#![forbid(unsafe_code)]

mod arguments;
mod cache;
mod check;
mod client;
mod exposure;
mod failed;
mod http_client;
mod pages;
mod preload;
mod serve;
mod servers;
mod watch;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::ArgMatches;
use supervisor::Verb;

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // `hearth help serve` is `hearth serve --help`, also for the commands that read their own words.
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.truncate(2);
        words.push("--help".into());
    }
    match words.get(1).and_then(|word| word.to_str()) {
        // The words of PHP follow; none of them is an option of this program.
        Some("run") => serve::run_script(&words[2..]),
        // These two parse their own words.
        Some("load") => load::main_from(words.into_iter().skip(2)),
        Some("bench") => bench::main_from(words.into_iter().skip(2)),
        // The supervisor starts this.
        Some("front") => front::main(build_id::BUILD_ID),
        Some("--version" | "-V" | "version") => serve::version(),
        _ => match arguments::command().try_get_matches_from(words) {
            Ok(matches) => dispatch(matches),
            Err(e) => refuse(arguments::name_successors(e)),
        },
    }
}

fn dispatch(matches: ArgMatches) -> ExitCode {
    match matches.subcommand() {
        Some(("serve", given)) => serve::serve(given),
        Some(("check", given)) => check::check(given),
        Some(("config", given)) => serve::config(given),
        Some(("completions", given)) => pages::completions(given),
        Some(("man", given)) => pages::man(given),
        Some(("reload", given)) => client::run(given, Verb::Reload),
        Some(("stop", given)) => client::run(given, Verb::Stop),
        Some(("status", given)) => client::run(given, Verb::Status),
        Some(("cache", given)) => cache::run(given),
        Some(("preload", given)) => preload::run(given),
        _ => unreachable!("clap asks for one of these"),
    }
}

/// Prints the help, or the usage error in the form of all other errors.
fn refuse(error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(what) => fail(2, what.trim_end()),
        None => {
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::from(2)
        }
    }
}

/// Prints the error to standard error, whose reader may have left, and returns the exit code.
fn fail(code: u8, what: impl std::fmt::Display) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "hearth: {what}");
    ExitCode::from(code)
}
