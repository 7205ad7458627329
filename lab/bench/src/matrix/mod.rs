//! The measurements of a run: scenarios one after the other, in each the servers in turn, round after round.

mod arm_run;
mod start;

use crate::check::{self, Reference};
use crate::database::{Database, Databases, Kind};
use crate::live::Live;
use crate::load::Generator;
use crate::problem::Result;
use crate::quiet;
use crate::run_dir::RunDir;
use crate::runtimes::Tools;
use crate::scenarios::{Arm, Scenario};
use crate::schedule::{Deadline, Pace, Schedule};
use crate::trial::{Trials, Turn};
use arm_run::{ArmRun, once_each};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The settings and resources of a run's measurements.
pub(crate) struct Matrix<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) dir: &'a RunDir,
    pub(crate) databases: &'a Databases<'a>,
    /// Seconds of load before each server is measured.
    pub(crate) warmup: f64,
    /// Whether each server is measured only on a quiet machine, and when its rate is steady.
    pub(crate) is_thorough: bool,
    /// The most seconds that a load may take.
    pub(crate) longest: f64,
    /// Seed of the order in which servers take turns.
    pub(crate) seed: u64,
    pub(crate) stop: &'a AtomicBool,
    /// Pages of the user's own site that are compared between servers.
    pub(crate) paths: Vec<String>,
    /// Scenarios in which a server did not start, by the server's name: each attempt costs 20 seconds.
    pub(crate) failed_starts: RefCell<BTreeMap<&'static str, Vec<&'static str>>>,
}

/// The number of consecutive scenarios in which a server did not start, after which it is not tried again.
const GIVEN_UP_AFTER: usize = 2;

/// The most rounds of `--full`. Only a cell whose interval stays wide gets all of them.
const MOST_ROUNDS: u32 = 20;

/// A scenario during its measurements.
struct ScenarioRun<'a> {
    scenario: &'static Scenario,
    /// The scenario's place in the schedule.
    at: usize,
    arms: Vec<ArmRun>,
    database: Option<&'a Database>,
    reference: Reference,
    pace: Pace,
    deadline: Deadline,
    random: SmallRng,
}

impl ScenarioRun<'_> {
    /// Returns the servers that can be measured and that `take_part`.
    fn those_that(&self, take_part: impl Fn(&ArmRun) -> bool) -> Vec<usize> {
        let all = self.arms.iter().enumerate();
        let taking = all.filter(|(_, one)| one.program.is_ok() && take_part(one));
        taking.map(|(index, _)| index).collect()
    }

    /// Returns the number of measurements that are planned from round `block` on.
    fn further(&self, block: u32) -> usize {
        let blocks = block..self.pace.most();
        blocks
            .map(|block| {
                self.those_that(|one| block < self.pace.rounds(&one.arm))
                    .len()
            })
            .sum()
    }
}

impl Matrix<'_> {
    fn trials(&self, seconds: f64) -> Trials<'_> {
        Trials {
            generator: Generator {
                program: self.tools.hearth.clone(),
                processors: self.dir.processors.clone(),
            },
            directory: self.dir.path().to_owned(),
            seconds,
            warmup: self.warmup,
            until_steady: self.is_thorough,
            longest: self.longest,
            stop: self.stop,
        }
    }

    /// Returns whether the run was interrupted, or no time is left for another measurement.
    fn is_over(&self, block: u32, deadline: Deadline) -> bool {
        let until = if block == 0 {
            deadline.first_round
        } else {
            deadline.further
        };
        self.stop.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until)
    }

    /// Runs the scenario at place `at` of the schedule on all its servers.
    pub(crate) fn scenario(
        &self,
        scenario: &'static Scenario,
        arms: Vec<Arm>,
        at: usize,
        schedule: &mut Schedule,
        live: &mut Live,
    ) -> report::Scenario {
        let now = Instant::now();
        let (pace, deadline) = (schedule.pace(at, now), schedule.deadline(at, now));
        let kind = scenario.database.map(|kind| kind.here(self.tools));
        let has_time = !self.is_over(0, deadline);
        let database = kind.filter(|_| has_time);
        let database = database.map(|kind| self.databases.get(kind));
        let arms = arms.into_iter().map(|arm| self.prepare(arm, kind));
        let mut run = ScenarioRun {
            scenario,
            at,
            arms: once_each(arms.collect()),
            database: database
                .as_ref()
                .and_then(|found| found.as_ref().ok().copied()),
            reference: Reference::of_body(scenario.body),
            pace,
            deadline,
            random: SmallRng::seed_from_u64(self.seed),
        };
        if let Some(Err(why)) = &database {
            run.arms.iter_mut().for_each(|one| one.refuse(why));
        }
        for block in 0..pace.most() {
            let takes_part = |one: &ArmRun| block < pace.rounds(&one.arm);
            let order: Vec<usize> = run.those_that(takes_part);
            self.round(&mut run, block, order, schedule, live);
        }
        if self.is_thorough {
            for block in pace.most()..MOST_ROUNDS {
                let order = arm_run::wide(&run.arms);
                self.round(&mut run, block, order, schedule, live);
            }
        }
        self.finish(run, kind)
    }

    /// Measures each of these servers once, in a random order.
    fn round(
        &self,
        run: &mut ScenarioRun<'_>,
        block: u32,
        mut order: Vec<usize>,
        schedule: &mut Schedule,
        live: &mut Live,
    ) {
        order.shuffle(&mut run.random);
        for (turn, index) in (0..).zip(order.iter().copied()) {
            let began = Instant::now();
            if self.is_over(block, run.deadline) {
                break;
            }
            let to_come = order.len() - turn as usize + run.further(block + 1);
            self.show(run, index, block, to_come, schedule, live);
            let turn = Turn { block, order: turn };
            match self.turn(run, index, turn) {
                Ok(seconds) => schedule.learn(began.elapsed(), seconds),
                Err(problem) => run.arms[index].end(&problem),
            }
        }
    }

    fn show(
        &self,
        run: &ScenarioRun<'_>,
        index: usize,
        block: u32,
        to_come: usize,
        schedule: &Schedule,
        live: &mut Live,
    ) {
        let (now, one) = (Instant::now(), &run.arms[index]);
        let (name, of) = (one.arm.runtime.name(), run.pace.rounds(&one.arm));
        let doing = match block < of {
            true => format!("{} {name}, round {} of {of}", run.scenario.name, block + 1),
            false => format!("{} {name}, one more round", run.scenario.name),
        };
        let own = u32::try_from(to_come).unwrap_or(u32::MAX);
        live.step(
            &doing,
            own + schedule.turns(run.at + 1, now),
            schedule.left(run.at, own, run.pace, now),
        );
    }

    fn prepare(&self, arm: Arm, database: Option<Kind>) -> ArmRun {
        let mut arms = ArmRun::of(arm, self.tools, database);
        let starts = self.failed_starts.borrow();
        if let Some(failed) = starts.get(arms.arm.runtime.id())
            && failed.len() >= GIVEN_UP_AFTER
        {
            arms.refuse(&format!(
                "not tried: it did not start in {}",
                failed.join(" and ")
            ));
        }
        arms
    }

    /// Starts a fresh server, checks it, warms it up and measures it under each of the arm's loads; returns the measured
    /// seconds.
    fn turn(&self, run: &mut ScenarioRun<'_>, index: usize, turn: Turn) -> Result<f64> {
        quiet::until_ports_are_free(self.stop);
        if self.is_thorough {
            quiet::until_quiet(self.stop);
        }
        let (database, admitted) = (run.database, run.arms[index].arm.admitted);
        let limited = database.filter(|_| admitted.is_some());
        if let Some(database) = limited {
            database.admit(admitted)?;
        }
        let measured = self.measured(run, index, turn);
        if let Some(database) = limited {
            database.admit(None)?;
        }
        measured
    }

    fn measured(&self, run: &mut ScenarioRun<'_>, index: usize, turn: Turn) -> Result<f64> {
        let (scenario, one) = (run.scenario, &mut run.arms[index]);
        let Ok(program) = one.program.clone() else {
            return Ok(0.0);
        };
        let started = self.start(&program, one, run.database);
        self.note_start(one.arm.runtime.id(), scenario.name, started.is_ok());
        let mut server = started?;
        let entry = format!("{}{}", server.base, entry(scenario, &one.arm));
        let trials = self.trials(run.pace.seconds.max(scenario.least_seconds));
        let check = check::Check {
            scenario,
            arm: &one.arm,
            base: &server.base,
            entry: &entry,
            paths: &self.paths,
        };
        let fields = check.run(&trials, &mut run.reference)?;
        one.note_fields(fields);
        let url = format!("{entry}{}", scenario.query);
        let length = run.reference.length;
        let length = (!scenario.varies && !one.arm.compress).then_some(length);
        let (mut is_warm, mut measured, mut highest) = (false, 0.0, None);
        for (shape, cell) in one.arm.loads.iter().zip(&mut one.cells) {
            let mut load = trials.load(shape, &url, length, turn)?;
            if one.arm.compress {
                load.headers.push("Accept-Encoding: gzip".to_owned());
            }
            load.rate = shape
                .share_of_highest
                .zip(highest)
                .map(|(share, highest): (f64, f64)| (share * highest).max(1.0));
            if !is_warm && (shape.amount.is_none() || one.arm.column == report::Column::Fair) {
                trials.warm(&load)?;
                is_warm = true;
            }
            let repeat = arm_run::keep(cell, &trials, &load, &mut server, run.database, turn)?;
            measured += repeat.load.elapsed_s;
            highest = highest.or(Some(repeat.load.rates.goodput));
        }
        Ok(measured)
    }

    fn note_start(&self, runtime: &'static str, scenario: &'static str, started: bool) {
        let mut all = self.failed_starts.borrow_mut();
        if started {
            all.remove(runtime);
            return;
        }
        let failed = all.entry(runtime).or_default();
        if !failed.contains(&scenario) {
            failed.push(scenario);
        }
    }

    fn finish(&self, run: ScenarioRun<'_>, database: Option<Kind>) -> report::Scenario {
        let ScenarioRun {
            scenario,
            arms,
            reference,
            pace,
            ..
        } = run;
        let why = if self.stop.load(Ordering::Relaxed) {
            "interrupted"
        } else {
            "the time limit was reached"
        };
        let processors = self.dir.processors.servers.len();
        let mut shapes = arms.iter().flat_map(|one| &one.arm.loads);
        let loops = match shapes.any(|shape| shape.share_of_highest.is_some()) {
            true => "closed for the highest rate, then open at shares of it",
            false => "closed loop: each connection asks again when it has its answer",
        };
        let cells = arms.into_iter().flat_map(|one| {
            let rounds = pace.rounds(&one.arm);
            one.finish(rounds as usize, why, processors)
        });
        report::Scenario {
            name: scenario.name.to_owned(),
            title: scenario.title.to_owned(),
            shows: scenario.shows.to_owned(),
            seed: scenario.seed.map(str::to_owned),
            axis: scenario.axis.map(str::to_owned),
            notes: notes(scenario, database),
            database: database.map(|kind| kind.id().to_owned()),
            body_sha256: reference.sha256,
            body_bytes: reference.length,
            requests: vec![format!("GET /{}", scenario.query)],
            loops: loops.to_owned(),
            seconds: pace.seconds.max(scenario.least_seconds),
            cells: cells.collect(),
            ..report::Scenario::default()
        }
    }
}

/// Returns what a reader must know about the scenario on this machine.
fn notes(scenario: &Scenario, database: Option<Kind>) -> Vec<String> {
    match (scenario.database, database) {
        (Some(Kind::MariaDb), Some(Kind::Sqlite)) => vec![ON_SQLITE.to_owned()],
        _ => Vec::new(),
    }
}

const ON_SQLITE: &str = "on SQLite instead of MariaDB: the app's own processes do the database's work, and connecting costs next to nothing";

/// Returns where request paths begin: an app with paths of its own, and a site, have the whole server.
fn entry(scenario: &Scenario, arm: &Arm) -> &'static str {
    if scenario.has_paths {
        ""
    } else if arm.site.is_some() {
        "/"
    } else {
        arm.runtime.entry()
    }
}
