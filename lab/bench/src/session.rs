//! One run of the command: what is measured, in which time, and where its result goes.

use crate::budget::{self, Cost};
use crate::cli::{Args, say};
use crate::database::Databases;
use crate::doctor;
use crate::guard::Guard;
use crate::host;
use crate::lists;
use crate::live::Live;
use crate::matrix::{Deadline, Effort, Matrix};
use crate::place::{Place, Processors, allowed_processors};
use crate::problem::{Problem, Result};
use crate::runtimes::{self, Runtime, Tools};
use crate::scenarios::app::Site;
use crate::scenarios::{self, AGAIN, Arm, Around, Scenario};
use measure::stats::median;
use report::terminal::{self, Style};
use report::{Run, StoppedBy};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

/// What is measured: an experiment, and its servers.
struct Job {
    scenario: &'static Scenario,
    arms: Vec<Arm>,
}

/// Runs what was asked for, prints and writes it.
pub(crate) fn measure(
    args: &Args,
    tools: &Tools,
    parameters: Vec<String>,
    words: Vec<String>,
) -> Result<()> {
    let runtimes = chosen_runtimes(args)?;
    let mut site = args
        .app
        .as_deref()
        .map(|app| Site::of(app, args.urls.as_deref(), args.resident.as_deref()))
        .transpose()?;
    let processors = Processors::of(&allowed_processors(), !args.no_pin);
    let around = Around {
        runtimes: &runtimes,
        processors: u32::try_from(processors.servers.len()).unwrap_or(1),
        connections: args.connections,
    };
    // Wrong usage ends the command before anything is started.
    jobs(args, &around, site.as_ref(), &parameters)?;
    let stop = stop_by_signal()?;
    crate::procfs::adopt_orphans();
    let guard = Guard::start(&tools.hearth)
        .map_err(|e| Problem::failed(format!("{} does not start: {e}", tools.hearth.display())))?;
    let place = Place::new(guard, processors)?;
    if let Some(site) = &mut site {
        site.lists = lists::make(site, &around, tools, &place, &stop)
            .map_err(|problem| format!("no preload list: {problem}"));
    }
    let jobs = jobs(args, &around, site.as_ref(), &parameters)?;
    let steps = steps(&jobs, tools);
    let effort = effort(args, &jobs, tools);
    let mut run = begin(&effort, &place, tools, words);
    let began = Instant::now();
    let databases = start_databases(&jobs, tools, &place, &mut run);
    let mut live = Live::new(steps * effort.rounds, args.quiet);
    let paths = site
        .as_ref()
        .map(|site| site.paths.clone())
        .unwrap_or_default();
    let deadlines = deadlines(&jobs, &effort, tools, began);
    let matrix = Matrix {
        tools,
        place: &place,
        databases: &databases,
        effort,
        stop: &stop,
        paths,
        failed_starts: RefCell::default(),
    };
    let style = Style::detect();
    for (job, deadline) in jobs.into_iter().zip(deadlines) {
        let mut done = matrix.scenario(job.scenario, job.arms, deadline, &mut live);
        live.clear();
        if let Some(site) = &site {
            done.app = true;
            done.requests.clone_from(&site.paths);
            run.advice = site.advice(&done.cells);
        }
        run.noise.aa_floor = run.noise.aa_floor.or_else(|| aa_floor(&done));
        say(&terminal::table(&run, &done, style));
        run.scenarios.push(done);
    }
    drop(databases);
    finish(args, run, began, stop.load(Ordering::Relaxed))
}

fn jobs(
    args: &Args,
    around: &Around<'_>,
    site: Option<&Site>,
    parameters: &[String],
) -> Result<Vec<Job>> {
    if let Some(site) = site {
        return Ok(vec![Job {
            scenario: &scenarios::app::SCENARIO,
            arms: site.arms(around),
        }]);
    }
    let chosen = scenarios::named(&args.words).map_err(Problem::Usage)?;
    if !parameters.is_empty() && !chosen.iter().all(|one| one.name == "pool") {
        return Err(Problem::Usage(format!(
            "{} is a parameter of the scenario pool: hearth bench pool {}",
            parameters[0],
            parameters.join(" ")
        )));
    }
    let arms = |scenario: &Scenario| {
        if parameters.is_empty() {
            (scenario.arms)(around)
        } else {
            scenarios::pool::given(around, parameters)
        }
    };
    Ok(chosen
        .into_iter()
        .map(|scenario| Job {
            scenario,
            arms: arms(scenario),
        })
        .collect())
}

/// Set by Ctrl-C, SIGTERM and SIGHUP.
fn stop_by_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Problem::failed)?;
    }
    Ok(stop)
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

/// Those that scenarios ask for; without one those scenarios say so.
fn start_databases(jobs: &[Job], tools: &Tools, place: &Place, run: &mut Run) -> Databases {
    let kinds = jobs.iter().filter_map(|job| job.scenario.database);
    let databases = Databases::start(kinds, tools, place);
    for problem in databases.problems() {
        run.notes.push(problem.clone());
        let _ = writeln!(std::io::stderr(), "hearth bench: {problem}");
    }
    databases
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
    let style = Style::detect();
    say(&format!(
        "\n{}{}",
        terminal::method(&run, style),
        terminal::advice(&run, style)
    ));
    if args.app.is_none() {
        say(&terminal::claims(&run, style));
    }
    write_all(args, &run)?;
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

/// The page, the result and the table for a pull request.
fn write_all(args: &Args, run: &Run) -> Result<()> {
    let named = |extension: &str| {
        let mut name = args.output.clone().into_os_string();
        name.push(format!(".{extension}"));
        PathBuf::from(name)
    };
    for (path, text) in [
        (named("html"), report::html(run)),
        (named("json"), run.json()),
        (named("md"), report::markdown(run)),
    ] {
        write(&path, &text)?;
    }
    say(&format!(
        "\nwritten: {}, {}, {}\n",
        named("html").display(),
        named("json").display(),
        named("md").display()
    ));
    args.json
        .as_ref()
        .map_or(Ok(()), |path| write(path, &run.json()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| Problem::failed(format!("{}: {e}", path.display())))
}

/// How much the same server differed from itself: of the arm that is there twice.
fn aa_floor(scenario: &report::Scenario) -> Option<f64> {
    let of = |variant: &str| -> Option<Vec<f64>> {
        let cell = scenario
            .cells
            .iter()
            .find(|cell| cell.runtime == "hearth" && cell.variant == variant)?;
        Some(
            cell.repeats
                .iter()
                .map(|repeat| repeat.load.rates.goodput)
                .collect(),
        )
    };
    let (first, again) = (median(&of("")?), median(&of(AGAIN)?));
    (first > 0.0 && again > 0.0).then(|| (again / first - 1.0).abs())
}

/// The arms whose server is here.
fn present<'a>(arms: &'a [Arm], tools: &'a Tools) -> impl Iterator<Item = &'a Arm> {
    arms.iter().filter(|arm| {
        arm.impossible.is_none() && matches!(tools.find(arm.runtime), runtimes::Found::Here { .. })
    })
}

/// Servers that are started in one round.
fn steps(jobs: &[Job], tools: &Tools) -> u32 {
    let all = jobs
        .iter()
        .map(|job| present(&job.arms, tools).count())
        .sum::<usize>();
    u32::try_from(all).unwrap_or(u32::MAX).max(1)
}

const MINUTES: f64 = 15.0;

fn effort(args: &Args, jobs: &[Job], tools: &Tools) -> Effort {
    let (kind, warmup) = match (args.quick, args.full) {
        (true, _) => (report::Effort::Quick, 0.2),
        (_, true) => (report::Effort::Full, 3.0),
        _ => (report::Effort::Standard, 0.3),
    };
    let minutes = args
        .budget
        .or((kind != report::Effort::Full).then_some(MINUTES));
    let budget =
        minutes.map(|minutes| Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX));
    let cost = Cost::of(
        jobs.iter().flat_map(|job| present(&job.arms, tools)),
        warmup,
    );
    let (rounds, seconds) = match kind {
        report::Effort::Quick => (3, 0.5),
        report::Effort::Full => (6, 10.0),
        report::Effort::Standard => cost.fitting(budget.unwrap_or(Duration::MAX).as_secs_f64()),
    };
    let (rounds, seconds) = (
        args.rounds.unwrap_or(rounds),
        args.seconds.unwrap_or(seconds),
    );
    Effort {
        kind,
        rounds,
        seconds,
        warmup,
        budget,
        seed: args.seed,
    }
}

/// Until when each job may measure.
fn deadlines(jobs: &[Job], effort: &Effort, tools: &Tools, began: Instant) -> Vec<Deadline> {
    let Some(budget) = effort.budget else {
        return vec![Deadline::default(); jobs.len()];
    };
    let cost =
        |job: &Job| Cost::of(present(&job.arms, tools), effort.warmup).seconds(effort.seconds);
    let costs: Vec<f64> = jobs.iter().map(cost).collect();
    budget::deadlines(&costs, budget)
        .into_iter()
        .map(|after| Deadline {
            first_round: began.checked_add(budget),
            further: began.checked_add(after),
        })
        .collect()
}
