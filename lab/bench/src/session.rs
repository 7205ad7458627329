//! One run of the command: its scenarios, its time, and its output.

use crate::calibration;
use crate::ceiling;
use crate::cli::{Args, print_text};
use crate::database::Databases;
use crate::doctor;
use crate::guard::Guard;
use crate::host;
use crate::live::Live;
use crate::matrix::Matrix;
use crate::output;
use crate::preload_lists;
use crate::problem::{Problem, Result};
use crate::run_dir::{Processors, RunDir, allowed_processors};
use crate::runtimes::{self, Runtime, Tools};
use crate::scenarios::app::Site;
use crate::scenarios::{self, AGAIN, Arm, Around, Scenario};
use crate::schedule::{Cost, Schedule, Wanted};
use measure::stats::median;
use report::terminal::{self, Style};
use report::{CellKey, Run, StoppedBy};
use std::cell::RefCell;
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

/// An experiment and its servers.
struct Job {
    scenario: &'static Scenario,
    arms: Vec<Arm>,
}

/// Runs the requested experiments, and prints and writes the result.
pub(crate) fn measure(
    args: &Args,
    tools: &Tools,
    parameters: Vec<String>,
    words: Vec<String>,
) -> Result<()> {
    let runtimes = chosen_runtimes(args)?;
    let mut site = site_of(args)?;
    let processors = Processors::of(&allowed_processors(), !args.no_pin);
    let around = Around {
        runtimes: &runtimes,
        processors: u32::try_from(processors.servers.len()).unwrap_or(1),
        connections: args.connections,
    };
    // A usage error ends the command before anything is started.
    jobs(args, &around, tools, site.as_ref(), &parameters)?;
    output::check(args)?;
    let began = Instant::now();
    let stop = stop_by_signal()?;
    crate::procfs::adopt_orphans();
    let guard = Guard::start(&tools.hearth)
        .map_err(|e| Problem::failed(format!("cannot start {}: {e}", tools.hearth.display())))?;
    let dir = RunDir::new(guard, processors)?;
    if let Some(site) = site.as_mut().filter(|_| args.budget != Some(0.0)) {
        site.lists = preload_lists::make(site, &around, tools, &dir, &stop)
            .map_err(|problem| format!("no preload list: {problem}"));
    }
    let jobs = jobs(args, &around, tools, site.as_ref(), &parameters)?;
    let mut schedule = schedule(args, &jobs, tools, began);
    let mut run = begin(&schedule, args, &dir, tools, words);
    if args.budget != Some(0.0) {
        let seconds = watched(&schedule).as_secs_f64();
        note_ceiling(&mut run, ceiling::measure(tools, &dir, seconds, &stop));
    }
    let databases = Databases::new(tools, &dir);
    print_text(&planned(&schedule));
    let mut live = Live::new(args.quiet);
    let matrix = Matrix {
        tools,
        dir: &dir,
        databases: &databases,
        warmup: warmup(args),
        is_thorough: args.full,
        longest: args.seconds.unwrap_or(f64::INFINITY),
        seed: args.seed,
        stop: &stop,
        paths: site
            .as_ref()
            .map_or_else(Vec::new, |site| site.paths.clone()),
        failed_starts: RefCell::default(),
    };
    for (at, job) in jobs.into_iter().enumerate() {
        let done = matrix.scenario(job.scenario, job.arms, at, &mut schedule, &mut live);
        live.clear();
        keep(&mut run, done, site.as_ref());
    }
    run.notes.extend(databases.problems().cloned());
    drop(databases);
    finish(args, run, began, stop.load(Ordering::Relaxed))
}

/// Returns the user's own site, if one was given.
fn site_of(args: &Args) -> Result<Option<Site>> {
    let (urls, resident) = (args.urls.as_deref(), args.resident.as_deref());
    // clap does not enforce `requires = "app"` when scenarios are given, because `--app` conflicts with them.
    let given = [
        ("--urls", urls.is_some()),
        ("--resident", resident.is_some()),
        ("--env", !args.env.is_empty()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given)
        && args.app.is_none()
    {
        return Err(Problem::Usage(format!("{option} is for --app DIR")));
    }
    let site = |app| Site::of(app, urls, resident, &args.env);
    args.app.as_deref().map(site).transpose()
}

/// Prints a scenario's figures, and keeps them.
fn keep(run: &mut Run, mut done: report::Scenario, site: Option<&Site>) {
    if let Some(site) = site {
        done.app = true;
        done.requests.clone_from(&site.paths);
        run.advice = site.advice(&done.cells);
    }
    run.noise.aa_floor = run.noise.aa_floor.or_else(|| aa_floor(&done));
    print_text(&terminal::table(run, &done, Style::detect()));
    run.scenarios.push(done);
}

fn jobs(
    args: &Args,
    around: &Around<'_>,
    tools: &Tools,
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
    let is_here = |id: &str| {
        runtimes::by_id(id)
            .is_some_and(|one| matches!(tools.find(one), runtimes::Found::Here { .. }))
    };
    let arms = |scenario: &Scenario| {
        let mut arms = if !parameters.is_empty() {
            scenarios::pool::given(around, parameters)
        } else if scenario.one_of_each && args.against.is_empty() {
            scenarios::without_twins((scenario.arms)(around), is_here)
        } else {
            (scenario.arms)(around)
        };
        mark_what_decides(scenario, &mut arms, is_here);
        arms
    };
    Ok(chosen
        .into_iter()
        .map(|scenario| Job {
            scenario,
            arms: arms(scenario),
        })
        .collect())
}

/// Marks the servers that claims rest on, and the one that is measured twice for the noise floor.
fn mark_what_decides(scenario: &Scenario, arms: &mut [Arm], is_here: impl Fn(&str) -> bool) {
    let again = arms.iter().find(|arm| arm.variant == AGAIN);
    let again = again.map(|arm| arm.runtime.id());
    let mut cells: Vec<(usize, CellKey)> = Vec::new();
    for (at, arm) in arms.iter().enumerate() {
        if arm.impossible.is_none() && is_here(arm.runtime.id()) {
            cells.extend(arm.loads.iter().map(|load| (at, arm.key(load))));
        }
    }
    let keys: Vec<CellKey> = cells.iter().map(|(_, key)| key.clone()).collect();
    let rests = report::claims::rest_on(scenario.name, &keys);
    for ((at, _), rests) in cells.iter().zip(rests) {
        arms[*at].decides |= rests || again == Some(arms[*at].runtime.id());
    }
}

/// Returns a flag that SIGINT, SIGTERM and SIGHUP set.
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

/// Returns how long the machine is observed before a run; less for a short run.
fn watched(schedule: &Schedule) -> Duration {
    let planned = schedule.left_of_all(Instant::now());
    Duration::from_secs_f64((planned / 60.0).clamp(0.2, 1.0))
}

fn note_ceiling(run: &mut Run, ceiling: Result<f64>) {
    match ceiling {
        Ok(ceiling) => run.noise.client_ceiling = Some(ceiling),
        // The run ends and reports the interruption.
        Err(Problem::Interrupted) => {}
        Err(problem) => run.noise.notes.push(format!(
            "the highest rate of the load generator was not measured: {problem}"
        )),
    }
}

/// Returns the description of the run, before anything is measured.
fn begin(schedule: &Schedule, args: &Args, dir: &RunDir, tools: &Tools, words: Vec<String>) -> Run {
    let pace = schedule.pace(0, Instant::now());
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Run {
        schema: report::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: now.as_secs_f64(),
        command: words,
        effort: effort(args),
        plan: report::Plan {
            rounds: pace.most(),
            seconds: pace.seconds,
            warmup_s: warmup(args),
            seed: args.seed,
            pinned: host::pinned(dir),
        },
        host: host::host(tools),
        noise: host::noise(watched(schedule)),
        runtimes: doctor::inventory(tools),
        ..Run::default()
    }
}

fn finish(args: &Args, mut run: Run, began: Instant, interrupted: bool) -> Result<()> {
    calibration::mark_drift(&mut run);
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
    print_text(&format!(
        "\n{}{}",
        terminal::method(&run, style),
        terminal::advice(&run, style)
    ));
    if args.app.is_none() {
        print_text(&terminal::claims(&run, style));
    }
    output::write_all(args, &run)?;
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

/// Returns how much a server differed from itself, from the arm that is there twice.
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

/// Returns the arms whose server is installed.
fn present<'a>(arms: &'a [Arm], tools: &'a Tools) -> impl Iterator<Item = &'a Arm> {
    arms.iter().filter(|arm| {
        arm.impossible.is_none() && matches!(tools.find(arm.runtime), runtimes::Found::Here { .. })
    })
}

fn schedule(args: &Args, jobs: &[Job], tools: &Tools, began: Instant) -> Schedule {
    let costs = jobs
        .iter()
        .map(|job| Cost::of(job.scenario, present(&job.arms, tools)));
    Schedule::new(wanted(args), began, costs.collect())
}

/// Returns what the run will do, and how long that takes.
fn planned(schedule: &Schedule) -> String {
    let now = Instant::now();
    let left = report::progress::time(schedule.left_of_all(now));
    format!(
        "{} servers are started one after the other, about {left}; rounds and their length are fitted to the time that is left\n\n",
        schedule.turns(0, now)
    )
}

const MINUTES: f64 = 15.0;

fn effort(args: &Args) -> report::Effort {
    match (args.quick, args.full) {
        (true, _) => report::Effort::Quick,
        (_, true) => report::Effort::Full,
        _ => report::Effort::Standard,
    }
}

/// Returns the seconds of load before each server is measured.
fn warmup(args: &Args) -> f64 {
    match effort(args) {
        report::Effort::Quick => 0.2,
        report::Effort::Standard => 0.2,
        report::Effort::Full => 3.0,
    }
}

fn wanted(args: &Args) -> Wanted {
    let effort = effort(args);
    let minutes = args
        .budget
        .or((effort != report::Effort::Full).then_some(MINUTES));
    Wanted {
        effort,
        rounds: args.rounds,
        seconds: args.seconds,
        budget: minutes
            .map(|minutes| Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)),
    }
}
