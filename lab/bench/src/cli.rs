//! The command line of `hearth bench`.

use crate::doctor;
use crate::guard;
use crate::problem::{Problem, Result};
use crate::runtimes::{self, Tools};
use crate::scenarios::{self, Around};
use crate::session;
use clap::Parser;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run experiments on this machine's servers, side by side, and report what each technique is worth
#[derive(Debug, Parser)]
#[command(name = "hearth bench", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// Scenarios (`hearth bench list`), or the beginning of names followed by *; all scenarios if none is given. Or a command: doctor, list, show, compare, readme
    #[arg(value_name = "SCENARIO")]
    pub(crate) words: Vec<String>,
    /// Only these servers (`hearth bench doctor` lists them), separated by commas
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',')]
    pub(crate) against: Vec<String>,
    /// Path of a server that is not in the PATH, such as swoole=/path/to/swoole.so; may be repeated
    #[arg(long, value_name = "NAME=PATH", value_parser = pair)]
    pub(crate) with: Vec<(String, PathBuf)>,
    /// Three short rounds: shows what works, for a first impression
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Six rounds of ten seconds, however long they take: for claims
    #[arg(long)]
    pub(crate) full: bool,
    /// Number of rounds, instead of that of --quick or --full
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: Option<u32>,
    /// Measured seconds of each load in each round; a load with a number of requests takes no longer
    #[arg(long, value_name = "SECONDS", value_parser = number)]
    pub(crate) seconds: Option<f64>,
    /// Connections of a load, unless the scenario has its own
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Start no measurement after this many minutes [default: 15; with --full no limit]
    #[arg(long, value_name = "MINUTES", value_parser = number)]
    pub(crate) budget: Option<f64>,
    /// Database of the scenarios with queries [default: mariadb; sqlite if MariaDB is not installed]
    #[arg(long, value_name = "NAME", value_parser = ["mariadb", "sqlite"])]
    pub(crate) database: Option<String>,
    /// Let load and servers share all processors
    #[arg(long)]
    pub(crate) no_pin: bool,
    /// Seed of the order in which servers take turns
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Measure your own site instead of scenarios: a project or its document root
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub(crate) app: Option<PathBuf>,
    /// Requests to --app: a file of paths (as for --mix of hearth load), or an access log
    #[arg(long, value_name = "FILE", requires = "app")]
    pub(crate) urls: Option<PathBuf>,
    /// Script of --app that returns a handler, to measure the resident modes too
    #[arg(long, value_name = "SCRIPT", requires = "app")]
    pub(crate) resident: Option<PathBuf>,
    /// Variable by which --app switches something (a pool, another cache): each server is measured with and without it; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, requires = "app")]
    pub(crate) env: Vec<(String, String)>,
    /// Write NAME.html, NAME.json and NAME.md
    #[arg(long, value_name = "NAME", default_value = "hearth-bench")]
    pub(crate) output: PathBuf,
    /// Write the result to this file too, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Do not show progress on the terminal
    #[arg(long)]
    pub(crate) quiet: bool,
    /// With doctor: build Gin's program for later runs; the build may download Gin
    #[arg(long, value_name = "gin")]
    pub(crate) build: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  hearth bench doctor                          what is found here, and how to get the rest
  hearth bench                                 everything that is found, within 15 minutes
  hearth bench basic --against hearth,apache   one scenario, two servers
  hearth bench --quick 'basic_query*'          a first impression
  hearth bench basic --with swoole=/usr/lib/php/20220829/swoole.so
  hearth bench --app /srv/shop --urls access.log --against hearth-classic,fpm
  hearth bench pool --pool.size=32 --scenario.query_per_request=4
  hearth bench show result.json --html r.html  the report of a saved result
  hearth bench compare a.json b.json           what changed between two of them";

fn pair(text: &str) -> std::result::Result<(String, PathBuf), String> {
    let (name, path) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=PATH, such as swoole=/path/to/swoole.so"))?;
    let path = PathBuf::from(path);
    let path = std::path::absolute(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if !path.exists() {
        return Err(format!("{} does not exist", path.display()));
    }
    Ok((name.to_owned(), path))
}

fn variable(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!(
            "{text:?} is not NAME=VALUE, such as APP_CACHE=redis"
        )),
    }
}

/// Splits off the arguments `--group.name=value`: the 26 parameters of the pool's write-up.
fn pool_parameters(words: &[OsString]) -> (Vec<String>, Vec<OsString>) {
    let is_one = |word: &&OsString| {
        let name = word.to_str().and_then(|word| {
            word.strip_prefix("--")?
                .split_once('=')
                .map(|(name, _)| name)
        });
        name.is_some_and(|name| {
            name.contains('.')
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '_' || c == '.')
        })
    };
    let (parameters, plain): (Vec<&OsString>, Vec<&OsString>) = words.iter().partition(is_one);
    (
        parameters
            .into_iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        plain.into_iter().cloned().collect(),
    )
}

/// Runs `hearth bench` with the given arguments.
pub(crate) fn main_from(words: Vec<OsString>) -> ExitCode {
    if words.first().is_some_and(|word| word == guard::WORD) {
        guard::run(std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    if let Some(code) = crate::saved_runs::run(&words) {
        return code;
    }
    let (parameters, plain) = pool_parameters(&words);
    let args = match Args::try_parse_from(std::iter::once("hearth bench".into()).chain(plain)) {
        Ok(args) => args,
        Err(error) => {
            if !error.use_stderr() {
                error.exit();
            }
            let text = error.render().to_string();
            let text = text.trim_start_matches("error: ").trim_end();
            let _ = writeln!(std::io::stderr(), "hearth bench: {text}");
            return ExitCode::from(2);
        }
    };
    let shown = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match dispatch(&args, parameters, shown) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "hearth bench: {problem}");
            ExitCode::from(if matches!(problem, Problem::Usage(_)) {
                2
            } else {
                1
            })
        }
    }
}

fn dispatch(args: &Args, parameters: Vec<String>, words: Vec<String>) -> Result<()> {
    let hearth = std::env::current_exe()
        .map_err(|e| Problem::failed(format!("cannot find the path of this program: {e}")))?;
    let mut tools = Tools::new(args.with.iter().cloned().collect(), hearth);
    tools.on_sqlite = args.database.as_deref().map(|name| name == "sqlite");
    match args.words.first().map(String::as_str) {
        Some("doctor") => doctor(args, &tools),
        Some("list") => {
            print_text(&list(&tools));
            Ok(())
        }
        _ => session::measure(args, &tools, parameters, words),
    }
}

fn doctor(args: &Args, tools: &Tools) -> Result<()> {
    match args.build.as_deref() {
        Some("gin") => print_text(&format!(
            "built {}\n",
            runtimes::gin::build(tools)?.display()
        )),
        Some(other) => {
            return Err(Problem::Usage(format!(
                "--build {other}: only gin can be built"
            )));
        }
        None => print_text(&doctor::page(tools)),
    }
    Ok(())
}

fn list(tools: &Tools) -> String {
    let runtimes: Vec<_> = runtimes::ALL.to_vec();
    let around = Around {
        runtimes: &runtimes,
        processors: 1,
        connections: 100,
    };
    let mut text = String::new();
    for scenario in scenarios::all() {
        let mut here: Vec<&str> = (scenario.arms)(&around)
            .iter()
            .filter(|arm| {
                arm.impossible.is_none()
                    && matches!(tools.find(arm.runtime), runtimes::Found::Here { .. })
            })
            .map(|arm| arm.runtime.id())
            .collect();
        here.dedup();
        here.sort_unstable();
        here.dedup();
        text += &format!(
            "{:<56} {}\n    {}; here: {}\n",
            scenario.name,
            scenario.title,
            scenario.shows,
            here.join(" ")
        );
    }
    text
}

/// Prints to standard output; ignores a reader that has closed it.
pub(crate) fn print_text(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Parses a number of the command line.
fn number(text: &str) -> std::result::Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| "expected a number of 0 or more, such as 15 or 0.5".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_finite_and_not_negative() {
        assert_eq!(number("0.5"), Ok(0.5));
        for wrong in ["x", "-1", "nan", "inf", ""] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
    }
}
