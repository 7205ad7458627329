//! `hearth preload`: makes lists for opcache.preload from recordings of real requests, and tries them before they are used.

mod build;
mod check;
mod classify;
mod cost;
mod explain;
mod files;
mod measure;
mod php;
mod record;
mod replay;
mod serve_trial;
mod site;
mod start_trial;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::preload::{List, beside};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::fail;
use crate::failed::Failed;

fn usage(why: impl Into<String>) -> Failed {
    Failed {
        code: 2,
        why: why.into(),
    }
}

/// Returns the error for a path that does not exist, with what should be there.
fn is_missing(path: &Path, advice: &str) -> Option<Failed> {
    let is_missing = path.try_exists().is_ok_and(|exists| !exists);
    is_missing.then(|| usage(format!("{} does not exist; {advice}", path.display())))
}

/// Adds to an error of the system what was done, and on what.
fn on(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Failed {
    let text = format!("cannot {what} {}", path.display());
    move |error| format!("{text}: {error}").into()
}

pub(crate) fn command() -> Command {
    Command::new("preload")
        .about("Make preload lists for opcache from real traffic, for Hearth, php-fpm and Apache")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([record(), build(), check(), explain()])
}

fn path(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name)
        .value_name(value)
        .value_parser(value_parser!(PathBuf))
}

fn php() -> Arg {
    Arg::new("php")
        .long("php")
        .value_name("VERSION")
        .help("PHP to test with, such as 8.4; default: the release that recorded")
}

fn no_replay(help: &'static str) -> Arg {
    Arg::new("no-replay")
        .long("no-replay")
        .action(ArgAction::SetTrue)
        .help(help)
}

fn server_config() -> Arg {
    path("config", "FILE")
        .long("config")
        .help("hearth.toml for the private servers that answer the recorded paths")
}

fn record() -> Command {
    Command::new("record")
        .about("Prepare a folder for recordings, or show its content")
        .after_help("Set auto_prepend_file to FOLDER/recorder.php in php.ini, the pool of php-fpm, Apache or `hearth serve --ini`; remove it when enough was recorded.")
        .arg(path("folder", "FOLDER").required(true).help("Folder of the recorder and of what it writes"))
        .arg(Arg::new("user").long("user").value_name("USER").help("User that the recorded PHP runs as; as root, default www-data"))
        .arg(
            Arg::new("every")
                .long("every")
                .value_name("SECONDS")
                .value_parser(value_parser!(f64))
                .help("Record at most one request per this number of seconds; 0: every request; default 1"),
        )
        .arg(
            Arg::new("queries")
                .long("queries")
                .action(ArgAction::SetTrue)
                .help("Record paths with their query strings, so that they can be requested again; default: only paths that were requested without one"),
        )
        .arg(path("write", "FILE").long("write").help("Write the recordings to one file, to take to another machine"))
}

fn build() -> Command {
    Command::new("build")
        .about("Make preload.php from recordings, and test it")
        .arg(path("recordings", "RECORDING").num_args(0..).help("Folders of `record`, or files of `record --write`, of any number of machines"))
        .arg(
            Arg::new("strategy")
                .long("strategy")
                .value_name("STRATEGY")
                .value_parser(PossibleValuesParser::new(["none", "naive", "optimised", "traffic"]))
                .default_value("traffic")
                .help("traffic: the files that save most; optimised: the files that one route loads; naive: all files below the root"),
        )
        .arg(
            Arg::new("coverage")
                .long("coverage")
                .value_name("SHARE")
                .value_parser(value_parser!(f64))
                .default_value("0.99")
                .help("With traffic: share of the loading time to save"),
        )
        .arg(Arg::new("memory").long("memory").value_name("BYTES").help("With traffic: largest part of opcache's memory for the files, such as 32M"))
        .arg(Arg::new("route").long("route").value_name("ROUTE").help("With optimised: the route, such as \"GET /\"; default: the most frequent"))
        .arg(path("root", "FOLDER").long("root").help("Folder of the project; default: the one that was recorded last"))
        .arg(
            Arg::new("exclude")
                .long("exclude")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Leave out a file, a folder of the project, or a class, with all that needs it; may be given again"),
        )
        .arg(path("output", "FILE").short('o').long("output").default_value("preload.php").help("Script for opcache.preload; FILE with .json in place of .php is written too"))
        .arg(no_replay("Only start PHP with the list: send no requests"))
        .arg(server_config())
        .arg(php())
}

fn list_file() -> Arg {
    path("file", "FILE")
        .default_value("preload.php")
        .help("List that `build` made")
}

fn check() -> Command {
    Command::new("check")
        .about("Start PHP with a list, request the recorded paths with and without it, and measure whether it pays")
        .after_help("Exit codes: 0 the list works and pays, 1 it breaks something or does not pay, 2 wrong usage.")
        .arg(list_file())
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .value_name("SECONDS")
                .value_parser(value_parser!(f64))
                .default_value("10")
                .help("Duration of the measurement"),
        )
        .arg(no_replay("Only start PHP with the list: send no requests, measure nothing"))
        .arg(path("install", "FILE").long("install").help("Copy the list to FILE if it works and pays"))
        .arg(server_config())
        .arg(php())
}

fn explain() -> Command {
    Command::new("explain")
        .about("Show why a class or file is in a list, or is not")
        .arg(
            Arg::new("name")
                .value_name("CLASS")
                .required(true)
                .help("A class, a function, or a file"),
        )
        .arg(list_file())
}

pub(crate) fn run(given: &ArgMatches) -> ExitCode {
    let done = match given.subcommand() {
        Some(("record", given)) => record::record(given),
        Some(("build", given)) => build::build(given),
        Some(("check", given)) => check::check(given),
        Some(("explain", given)) => explain::explain(given),
        _ => unreachable!("clap asks for one"),
    };
    match done {
        Ok(code) => code,
        Err(Failed { code, why }) => fail(code, why),
    }
}

fn given_path<'a>(given: &'a ArgMatches, name: &str) -> Option<&'a Path> {
    given.get_one::<PathBuf>(name).map(PathBuf::as_path)
}

fn read_list(script: &Path) -> Result<List, Failed> {
    let path = beside(script);
    if let Some(failed) = is_missing(
        &path,
        "`hearth preload build RECORDING` makes a list, by default preload.php in this folder",
    ) {
        return Err(failed);
    }
    let bytes = std::fs::read(&path).map_err(on("read", &path))?;
    List::parse(&bytes).map_err(|why| format!("{}: {why}", path.display()).into())
}

/// Writes `preload.php` and the JSON file beside it; each is replaced as a whole.
fn write_list(list: &List, script: &Path) -> Result<(), Failed> {
    let folder = files::folder_of(script)?;
    let json = serde_json::to_vec_pretty(list).map_err(|error| error.to_string())?;
    files::replace(&beside(script), &json)?;
    files::replace(script, ::preload::render(list, &folder).as_bytes())
}
