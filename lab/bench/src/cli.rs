//! The command line of `hearth bench`.

use crate::doctor;
use crate::guard::{self, Guard};
use crate::host;
use crate::live::Live;
use crate::mariadb::MariaDb;
use crate::matrix::{Effort, Matrix};
use crate::place::{Place, Processors, allowed_processors};
use crate::problem::{Problem, Result};
use crate::runtimes::{self, Runtime, Tools};
use crate::scenarios::{self, Around, Scenario};
use crate::table;
use clap::Parser;
use report::{self, Run, StoppedBy};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Run experiments on this machine's servers, side by side, and report what each technique is worth
#[derive(Debug, Parser)]
#[command(name = "hearth bench", version, after_help = EXAMPLES, disable_help_subcommand = true)]
struct Args {
    /// Scenarios (`hearth bench list`), or their beginning with * at the end; none: all. Or one of: doctor, list
    #[arg(value_name = "SCENARIO")]
    words: Vec<String>,
    /// Only these servers (`hearth bench doctor`), separated by commas
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',')]
    against: Vec<String>,
    /// Where a server is that is not in the PATH, such as swoole=/path/to/swoole.so; may be repeated
    #[arg(long, value_name = "NAME=PATH", value_parser = pair)]
    with: Vec<(String, PathBuf)>,
    /// Three short rounds: what works, and a first impression
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Six rounds of ten seconds, however long that takes: for claims
    #[arg(long)]
    full: bool,
    /// Rounds, instead of what the two above say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Measured seconds of each load in each round
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Connections of a load, unless the scenario has its own
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Begin no measurement after so many minutes [default: 15; with --full none]
    #[arg(long, value_name = "MINUTES")]
    budget: Option<f64>,
    /// Load and servers share all processors
    #[arg(long)]
    no_pin: bool,
    /// Seed of the order in which servers take turns
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Write the result here, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// No progress on the terminal
    #[arg(long)]
    quiet: bool,
    /// doctor: build Gin's program for later runs, which may fetch it from the network
    #[arg(long, value_name = "gin")]
    build: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  hearth bench doctor                          what is found here, and how to get the rest
  hearth bench                                 everything that is found, within 15 minutes
  hearth bench basic --against hearth,apache   one scenario, two servers
  hearth bench --quick 'basic_query*'          a first impression
  hearth bench basic --with swoole=/usr/lib/php/20220829/swoole.so";

fn pair(text: &str) -> std::result::Result<(String, PathBuf), String> {
    let (name, path) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=PATH"))?;
    let path = PathBuf::from(path);
    let path = std::path::absolute(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if !path.exists() {
        return Err(format!("{} does not exist", path.display()));
    }
    Ok((name.to_owned(), path))
}

/// Runs the command.
pub(crate) fn main_from(words: Vec<OsString>) -> ExitCode {
    if words.first().is_some_and(|word| word == guard::WORD) {
        guard::run(std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    let args =
        match Args::try_parse_from(std::iter::once("hearth bench".into()).chain(words.clone())) {
            Ok(args) => args,
            Err(error) => {
                let _ = error.print();
                return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
            }
        };
    let shown = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match dispatch(&args, shown) {
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

fn dispatch(args: &Args, words: Vec<String>) -> Result<()> {
    let hearth = std::env::current_exe()
        .map_err(|e| Problem::failed(format!("this program does not know where it is: {e}")))?;
    let tools = Tools::new(args.with.iter().cloned().collect(), hearth);
    match args.words.first().map(String::as_str) {
        Some("doctor") => doctor(args, &tools),
        Some("list") => {
            say(&list(&tools));
            Ok(())
        }
        _ => measure(args, &tools, words),
    }
}

fn doctor(args: &Args, tools: &Tools) -> Result<()> {
    match args.build.as_deref() {
        Some("gin") => say(&format!(
            "built {}\n",
            runtimes::gin::build(tools)?.display()
        )),
        Some(other) => {
            return Err(Problem::Usage(format!(
                "--build {other}: only gin is built here"
            )));
        }
        None => say(&doctor::page(tools)),
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

/// Standard output, whose reader may have left.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn chosen_runtimes(args: &Args) -> Result<Vec<&'static dyn Runtime>> {
    if args.against.is_empty() {
        return Ok(runtimes::ALL.to_vec());
    }
    let known = || {
        runtimes::ALL
            .iter()
            .map(|one| one.id())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let one = |id: &String| {
        runtimes::by_id(id).ok_or_else(|| {
            Problem::Usage(format!("no server called {id:?}; there are: {}", known()))
        })
    };
    args.against.iter().map(one).collect()
}

fn measure(args: &Args, tools: &Tools, words: Vec<String>) -> Result<()> {
    let chosen = scenarios::named(&args.words).map_err(Problem::Usage)?;
    let runtimes = chosen_runtimes(args)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Problem::failed)?;
    }
    crate::procfs::adopt_orphans();
    let guard = Guard::start(&tools.hearth)
        .map_err(|e| Problem::failed(format!("{} does not start: {e}", tools.hearth.display())))?;
    let place = Place::new(guard, Processors::of(&allowed_processors(), !args.no_pin))?;
    let around = Around {
        runtimes: &runtimes,
        processors: u32::try_from(place.processors.servers.len()).unwrap_or(1),
        connections: args.connections,
    };
    let effort = effort(args, &chosen, &around, tools);
    let mut run = begin(&effort, &place, tools, words);
    let began = Instant::now();
    let database = start_database(&chosen, tools, &place, &mut run);
    let mut live = Live::new(steps(&chosen, &around, tools) * effort.rounds, args.quiet);
    let matrix = Matrix {
        tools,
        place: &place,
        effort,
        around,
        stop: &stop,
        began,
    };
    for scenario in &chosen {
        let done = matrix.scenario(scenario, database.as_ref(), &mut live);
        live.clear();
        say(&table::table(&done, |id| {
            runtimes::by_id(id).map_or(id, |one| one.name()).to_owned()
        }));
        run.scenarios.push(done);
    }
    drop(database);
    finish(args, run, began, stop.load(Ordering::Relaxed))
}

/// What the run is, before anything is measured.
fn begin(effort: &Effort, place: &Place, tools: &Tools, words: Vec<String>) -> Run {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Run {
        schema: report::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: now.as_secs_f64(),
        command: words,
        effort: effort.kind,
        plan: report::Plan {
            rounds: effort.rounds,
            seconds: effort.seconds,
            warmup_s: effort.warmup,
            seed: effort.seed,
            pinned: host::pinned(place),
        },
        host: host::host(tools),
        noise: host::noise(Duration::from_secs(1)),
        runtimes: doctor::inventory(tools),
        ..Run::default()
    }
}

/// Only if a scenario asks for it; without one those scenarios say so.
fn start_database(
    chosen: &[&Scenario],
    tools: &Tools,
    place: &Place,
    run: &mut Run,
) -> Option<MariaDb> {
    if !chosen.iter().any(|scenario| scenario.needs_database) {
        return None;
    }
    match MariaDb::start(tools, place) {
        Ok(database) => Some(database),
        Err(problem) => {
            run.notes.push(format!("no database: {problem}"));
            let _ = writeln!(std::io::stderr(), "hearth bench: no database: {problem}");
            None
        }
    }
}

fn finish(args: &Args, mut run: Run, began: Instant, interrupted: bool) -> Result<()> {
    run.elapsed_s = began.elapsed().as_secs_f64();
    let unfinished = run
        .scenarios
        .iter()
        .flat_map(|one| &one.cells)
        .any(|cell| matches!(cell.status, report::Status::Unfinished { .. }));
    run.stopped_by = match (interrupted, unfinished) {
        (true, _) => StoppedBy::Interrupt,
        (false, true) => StoppedBy::Budget,
        (false, false) => StoppedBy::Done,
    };
    if let Some(path) = &args.json {
        write(path, &run)?;
    }
    if interrupted {
        return Err(Problem::Interrupted);
    }
    if run
        .scenarios
        .iter()
        .flat_map(|one| &one.cells)
        .all(|cell| cell.repeats.is_empty())
    {
        return Err(Problem::failed("nothing could be measured"));
    }
    Ok(())
}

fn write(path: &Path, run: &Run) -> Result<()> {
    let text = serde_json::to_string_pretty(run).map_err(Problem::failed)?;
    std::fs::write(path, text + "\n")
        .map_err(|e| Problem::failed(format!("{}: {e}", path.display())))
}

/// Servers that will be started in one round.
fn steps(chosen: &[&Scenario], around: &Around<'_>, tools: &Tools) -> u32 {
    let of = |scenario: &&Scenario| {
        let arms = (scenario.arms)(around);
        arms.iter()
            .filter(|arm| {
                arm.impossible.is_none()
                    && matches!(tools.find(arm.runtime), runtimes::Found::Here { .. })
            })
            .count()
    };
    u32::try_from(chosen.iter().map(of).sum::<usize>())
        .unwrap_or(u32::MAX)
        .max(1)
}

/// What a round costs beside its measured seconds, per server: start, check, stop.
const OVERHEAD: f64 = 1.0;

fn effort(args: &Args, chosen: &[&Scenario], around: &Around<'_>, tools: &Tools) -> Effort {
    let kind = match (args.quick, args.full) {
        (true, _) => report::Effort::Quick,
        (_, true) => report::Effort::Full,
        _ => report::Effort::Standard,
    };
    let budget = args
        .budget
        .map(|minutes| minutes * 60.0)
        .or((kind != report::Effort::Full).then_some(15.0 * 60.0));
    let (rounds, seconds, warmup) = match kind {
        report::Effort::Quick => (3, 0.5, 0.2),
        report::Effort::Full => (6, 10.0, 3.0),
        report::Effort::Standard => (
            3,
            fitting(
                budget.unwrap_or(f64::MAX),
                f64::from(steps(chosen, around, tools) * 3),
            ),
            0.5,
        ),
    };
    Effort {
        kind,
        rounds: args.rounds.unwrap_or(rounds),
        seconds: args.seconds.unwrap_or(seconds),
        warmup,
        budget: budget.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        seed: args.seed,
    }
}

/// Seconds of each measurement so that all turns fit into the budget: between a half and ten.
fn fitting(budget: f64, turns: f64) -> f64 {
    (budget * 0.85 / turns - OVERHEAD - 0.5).clamp(0.5, 10.0)
}
