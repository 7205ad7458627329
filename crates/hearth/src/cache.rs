//! `hearth cache`: shows and changes the cache of a running server.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use supervisor::{CacheKey, CacheQuestion, Namespace};

use crate::{client, fail};

pub(crate) fn command() -> Command {
    let key = || {
        Arg::new("key")
            .value_name("KEY")
            .required(true)
            .value_parser(value_parser!(OsString))
            .help("Key of the value, as in PHP code")
    };
    let value = Arg::new("value").value_name("VALUE").required(true);
    let ttl = Arg::new("ttl")
        .long("ttl")
        .value_name("SECONDS")
        .allow_negative_numbers(true)
        .value_parser(seconds)
        .help("Time after which the value expires; without it, the value is kept for ever");
    let json = Arg::new("as-json")
        .long("as-json")
        .action(ArgAction::SetTrue)
        .help("Read VALUE as JSON: a number, an array, …; otherwise it is a string");
    let count = Arg::new("count")
        .short('n')
        .long("count")
        .value_name("N")
        .value_parser(value_parser!(u32).range(1..=10_000))
        .default_value("20")
        .help("Number of values");
    Command::new("cache")
        .about("Show and change the cache of a running server (Hearth\\Cache)")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([
            verb("get", "Show a value", vec![key()]).arg(namespace()),
            verb("set", "Write a value", vec![key(), value]).args([ttl, json, namespace()]),
            verb("delete", "Delete a value", vec![key()]).arg(namespace()),
            verb(
                "clear",
                "Delete all values, or those of a namespace, or end all sessions",
                vec![],
            )
            .args([namespace(), sessions()]),
            verb("top", "Show the largest values", vec![]).arg(count),
            verb("stats", "Show the statistics of the cache", vec![]),
        ])
}

/// Makes a subcommand. Its own arguments come before the app.
fn verb(name: &'static str, about: &'static str, positional: Vec<Arg>) -> Command {
    Command::new(name)
        .about(about)
        .args(positional)
        .arg(config::app_argument())
        .args(config::flags(Some(&["config", "control"])))
}

fn namespace() -> Arg {
    Arg::new("namespace")
        .long("namespace")
        .value_name("NAME")
        .action(ArgAction::Append)
        .value_parser(OsStringValueParser::new().try_map(not_empty))
        .help("Namespace of the keys; given again, one within it")
}

fn sessions() -> Arg {
    Arg::new("sessions")
        .long("sessions")
        .action(ArgAction::SetTrue)
        .conflicts_with("namespace")
        .help("End the sessions of all visitors instead (session.save_handler = hearth)")
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .filter(|seconds| *seconds > 0.0 && seconds.is_finite())
        .ok_or("a number of seconds greater than 0, such as 60 or 0.5")
}

fn not_empty(name: OsString) -> Result<OsString, &'static str> {
    (!name.is_empty())
        .then_some(name)
        .ok_or("a name has at least one byte")
}

fn names(given: &ArgMatches) -> Namespace {
    let names = given
        .get_many::<OsString>("namespace")
        .into_iter()
        .flatten();
    Namespace(names.map(|name| name.clone().into_vec()).collect())
}

fn key(given: &ArgMatches) -> CacheKey {
    let name: OsString = given.get_one("key").cloned().unwrap_or_default();
    CacheKey {
        namespace: names(given),
        name: name.into_vec(),
    }
}

fn question(word: &str, given: &ArgMatches) -> Result<CacheQuestion, String> {
    Ok(match word {
        "get" => CacheQuestion::Get(key(given)),
        "set" => CacheQuestion::Set {
            key: key(given),
            value: value(given)?,
            ttl: given.get_one("ttl").copied(),
        },
        "delete" => CacheQuestion::Delete(key(given)),
        "clear" if given.get_flag("sessions") => CacheQuestion::EndSessions,
        "clear" => CacheQuestion::Clear(names(given)),
        "top" => CacheQuestion::Top(given.get_one("count").copied().unwrap_or(20)),
        _ => CacheQuestion::Stats,
    })
}

fn value(given: &ArgMatches) -> Result<serde_json::Value, String> {
    let text: String = given.get_one("value").cloned().unwrap_or_default();
    if !given.get_flag("as-json") {
        return Ok(text.into());
    }
    let begin: String = text.chars().take(80).collect();
    let dots = if begin.len() < text.len() { "…" } else { "" };
    serde_json::from_str(&text).map_err(|error| format!("{begin:?}{dots} is not JSON: {error}"))
}

pub(crate) fn run(given: &ArgMatches) -> ExitCode {
    let Some((word, given)) = given.subcommand() else {
        unreachable!("clap asks for one")
    };
    match question(word, given) {
        Ok(question) => client::send(given, &format!("cache {word}"), &question.into()),
        Err(what) => fail(2, what),
    }
}
