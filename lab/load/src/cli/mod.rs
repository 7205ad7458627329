//! The command line of `hearth load`: from arguments to runs, and from runs to printed results.

mod ab;
mod common;
mod compare;
mod native;
mod options;
mod selftest;
mod units;
mod wrk;

use crate::plan::Plan;
use crate::run::execute;
use crate::sweep;
use crate::view::{self, Style};
use clap::Parser;
use common::{Common, announcement};
use measure::{Place, ResultFile, Run, SCHEMA, StoppedBy};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a run that failed.
const FAILED: u8 = 1;
/// Exit code of a usage error.
const USAGE: u8 = 2;

/// The reason why there is no result.
#[derive(Debug)]
enum Problem {
    /// Invalid arguments.
    Usage(String),
    /// The run failed.
    Failed(String),
    /// A message of clap, which may be help or version.
    Clap(clap::Error),
}

impl From<clap::Error> for Problem {
    fn from(error: clap::Error) -> Self {
        Self::Clap(error)
    }
}

/// Returns the native command line.
pub(crate) fn command() -> clap::Command {
    <options::Args as clap::CommandFactory>::command()
}

/// Runs `hearth load` with the arguments `args`.
pub(crate) fn main_from(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    match dispatch(args) {
        Ok(code) => ExitCode::from(code),
        Err(Problem::Clap(error)) => {
            if !error.use_stderr() {
                error.exit();
            }
            let text = error.render().to_string();
            complain(text.trim_start_matches("error: ").trim_end(), USAGE)
        }
        Err(Problem::Usage(text)) => complain(&text, USAGE),
        Err(Problem::Failed(text)) => complain(&text, FAILED),
    }
}

fn complain(text: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "hearth load: {text}");
    ExitCode::from(code)
}

fn dispatch(mut args: Vec<OsString>) -> Result<u8, Problem> {
    if args.first().is_some_and(|word| word == "compare") {
        return compare::run(args);
    }
    let layout = take_layout(&mut args)?;
    args.insert(0, "hearth load".into());
    match layout.as_deref() {
        None => native(&options::Args::try_parse_from(args)?),
        Some("ab") => ab::run(args),
        Some("wrk") => wrk::run(args, false),
        Some("wrk2") => wrk::run(args, true),
        Some(other) => Err(Problem::Usage(format!(
            "--as {other}: unknown tool; use ab, wrk or wrk2"
        ))),
    }
}

/// Removes `--as NAME` from the arguments: the rest is the command line of that tool.
fn take_layout(args: &mut Vec<OsString>) -> Result<Option<String>, Problem> {
    for at in 0..args.len() {
        let Some(word) = args[at].to_str() else {
            continue;
        };
        if let Some(name) = word.strip_prefix("--as=") {
            let name = name.to_owned();
            args.remove(at);
            return Ok(Some(name));
        }
        if word == "--as" {
            let name = args
                .get(at + 1)
                .and_then(|name| name.to_str())
                .map(str::to_owned);
            let name =
                name.ok_or_else(|| Problem::Usage("--as needs a name: ab, wrk or wrk2".into()))?;
            args.drain(at..at + 2);
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn native(args: &options::Args) -> Result<u8, Problem> {
    if let Some(address) = args.bare_server {
        return selftest::serve(address, args.threads).map_err(Problem::Failed);
    }
    if args.self_test {
        return selftest::run(args).map_err(Problem::Failed);
    }
    let plans = args.plans().map_err(Problem::Usage)?;
    let style = Style {
        brief: args.brief || plans.len() > 1,
        spectrum: args.spectrum,
    };
    let mut session = Session::begin(&plans[0], &args.common)?;
    if args.find_max {
        sweep::find_max(&plans[0], |plan| {
            session
                .run(
                    plan,
                    Style {
                        brief: true,
                        ..style
                    },
                )
                .cloned()
        })?;
    } else {
        for plan in &plans {
            session.run(plan, style)?;
            if session.interrupted() {
                break;
            }
        }
    }
    if session.runs.len() > 1 {
        print(&view::table::sweep(&session.runs));
    }
    session.finish(&args.common)
}

/// One invocation: signals, progress, and the runs so far.
struct Session {
    stop: Arc<AtomicBool>,
    live: bool,
    runs: Vec<Run>,
}

impl Session {
    fn begin(plan: &Plan, common: &Common) -> Result<Self, Problem> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // A second signal ends the program at once.
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
                .map_err(|error| {
                    Problem::Failed(format!("cannot install the signal handlers: {error}"))
                })?;
        }
        plan.target.probe().map_err(Problem::Failed)?;
        if plan.target.place == Place::Remote {
            let _ = writeln!(std::io::stderr(), "hearth load: {}", announcement(plan));
        }
        Ok(Self {
            stop,
            live: !common.quiet && std::io::stderr().is_terminal(),
            runs: Vec::new(),
        })
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs one plan without printing its result.
    fn measure(&mut self, plan: &Plan) -> Result<&Run, Problem> {
        let live = self.live;
        let mut stderr = std::io::stderr();
        let run = execute(plan, &self.stop, &mut |now| {
            if live {
                let _ = write!(stderr, "\r\x1b[K{}", view::progress(plan, &now));
            }
        });
        if live {
            let _ = write!(stderr, "\r\x1b[K");
        }
        self.runs.push(run.map_err(Problem::Failed)?);
        Ok(&self.runs[self.runs.len() - 1])
    }

    /// Runs one plan and prints the native summary.
    fn run(&mut self, plan: &Plan, style: Style) -> Result<&Run, Problem> {
        let first = self.runs.is_empty();
        let run = self.measure(plan)?;
        print(&view::summary::render(run, style, first));
        Ok(run)
    }

    /// Writes the files; the exit code tells whether any request got a good response.
    fn finish(self, common: &Common) -> Result<u8, Problem> {
        let good = self.runs.iter().all(|run| run.counts.good > 0);
        let interrupted = self
            .runs
            .last()
            .is_some_and(|run| run.stopped_by == StoppedBy::Interrupt);
        if let Some(path) = &common.csv {
            write(path, &view::csv::series(&self.runs))?;
        }
        if let Some(path) = &common.json {
            let file = ResultFile {
                schema: SCHEMA.into(),
                version: env!("CARGO_PKG_VERSION").into(),
                runs: self.runs,
            };
            let text = serde_json::to_string_pretty(&file)
                .map_err(|error| Problem::Failed(error.to_string()))?;
            write(path, &(text + "\n"))?;
        }
        Ok(if good || interrupted { 0 } else { FAILED })
    }
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    std::fs::write(path, text)
        .map_err(|error| Problem::Failed(format!("cannot write {}: {error}", path.display())))
}

/// Prints to standard output; ignores a closed pipe, which is not a failure of the run.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
