//! The whole of a run: scenarios one after the other, in each the servers in turn, round after round.

mod going;
mod start;

use crate::check::{self, Reference};
use crate::database::{Database, Databases};
use crate::live::Live;
use crate::load::Generator;
use crate::place::Place;
use crate::problem::{Problem, Result};
use crate::quiet;
use crate::runtimes::Tools;
use crate::scenarios::{Arm, Scenario};
use crate::schedule::{Deadline, Pace, Schedule};
use crate::trial::{Trials, Turn};
use going::{Going, once_each};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a run works with.
pub(crate) struct Matrix<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) place: &'a Place,
    pub(crate) databases: &'a Databases,
    /// Seconds of load before each server is measured.
    pub(crate) warmup: f64,
    /// Each server is measured on a quiet machine, and when its rate is steady.
    pub(crate) is_thorough: bool,
    /// The longest that a load may take.
    pub(crate) longest: f64,
    /// Of the order in which servers take turns.
    pub(crate) seed: u64,
    pub(crate) stop: &'a AtomicBool,
    /// Pages of the user's own site that are compared.
    pub(crate) paths: Vec<String>,
    /// Scenarios in which a server did not start, by its name: each attempt costs 20 seconds.
    pub(crate) failed_starts: RefCell<BTreeMap<&'static str, Vec<&'static str>>>,
}

/// After how many scenarios in a row in which it did not start a server is not tried again.
const GIVEN_UP_AFTER: usize = 2;

impl Matrix<'_> {
    fn trials(&self, seconds: f64) -> Trials<'_> {
        Trials {
            generator: Generator {
                program: self.tools.hearth.clone(),
                processors: self.place.processors.clone(),
            },
            directory: self.place.path().to_owned(),
            seconds,
            warmup: self.warmup,
            until_steady: self.is_thorough,
            longest: self.longest,
            stop: self.stop,
        }
    }

    /// Interrupted, or no time for another measurement.
    fn is_over(&self, block: u32, deadline: Deadline) -> bool {
        let until = if block == 0 {
            deadline.first_round
        } else {
            deadline.further
        };
        self.stop.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until)
    }

    /// Runs the scenario of that place in the schedule on all its servers.
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
        let mut going: Vec<Going> =
            once_each(arms.into_iter().map(|arm| self.prepare(arm)).collect());
        let database = scenario.database.map(|kind| self.databases.get(kind));
        if let Some(Err(why)) = &database {
            going.iter_mut().for_each(|one| one.refuse(why));
        }
        let database = database.and_then(std::result::Result::ok);
        let mut reference = Reference::of_body(scenario.body);
        let mut random = SmallRng::seed_from_u64(self.seed);
        let rounds = |one: &Going| pace.rounds(scenario, &one.arm);
        for block in 0..pace.most() {
            let takes_part = |one: &Going, block| one.program.is_ok() && block < rounds(one);
            let mut order: Vec<usize> = (0..going.len())
                .filter(|at| takes_part(&going[*at], block))
                .collect();
            order.shuffle(&mut random);
            let further = (block + 1..pace.most())
                .map(|block| going.iter().filter(|one| takes_part(one, block)).count());
            let mut to_come = order.len() + further.sum::<usize>();
            for (turn, index) in (0..).zip(order) {
                let began = Instant::now();
                if self.is_over(block, deadline) {
                    break;
                }
                let one = &mut going[index];
                let (name, of) = (one.arm.runtime.name(), rounds(one));
                let doing = format!("{} {name}, round {} of {of}", scenario.name, block + 1);
                let own = u32::try_from(to_come).unwrap_or(u32::MAX);
                live.step(
                    &doing,
                    own + schedule.turns(at + 1, began),
                    schedule.left(at, own, pace, began),
                );
                to_come -= 1;
                let turn = Turn { block, order: turn };
                let measured = self.turn(scenario, one, database, &mut reference, pace, turn);
                match measured {
                    Ok(seconds) => schedule.learn(began.elapsed(), seconds),
                    Err(problem) => one.end(&problem),
                }
            }
        }
        self.finish(scenario, going, reference, pace)
    }

    fn prepare(&self, arm: Arm) -> Going {
        let mut going = Going::of(arm, self.tools);
        let starts = self.failed_starts.borrow();
        if let Some(failed) = starts.get(going.arm.runtime.id())
            && failed.len() >= GIVEN_UP_AFTER
        {
            going.refuse(&format!(
                "not tried: it did not start in {}",
                failed.join(" and ")
            ));
        }
        going
    }

    /// A fresh server, checked, warmed up and measured under each of the arm's loads: for how many seconds in all.
    fn turn(
        &self,
        scenario: &'static Scenario,
        one: &mut Going,
        database: Option<&Database>,
        reference: &mut Reference,
        pace: Pace,
        turn: Turn,
    ) -> Result<f64> {
        let Ok(program) = one.program.clone() else {
            return Ok(0.0);
        };
        quiet::until_ports_are_free(self.stop);
        if self.is_thorough {
            quiet::until_quiet(self.stop);
        }
        let started = self.start(&program, one, database);
        self.note_start(one.arm.runtime.id(), scenario.name, started.is_ok());
        let mut server = started?;
        let entry = format!("{}{}", server.base, entry(scenario, &one.arm));
        let trials = self.trials(pace.seconds.max(scenario.least_seconds));
        let check = check::Check {
            scenario,
            arm: &one.arm,
            base: &server.base,
            entry: &entry,
            paths: &self.paths,
        };
        check.run(&trials, reference)?;
        let url = format!("{entry}{}", scenario.query);
        let length = (!scenario.varies && !one.arm.compress).then_some(reference.length);
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
            let before = database.and_then(Database::questions);
            match trials.measure(&load, &mut server, database, turn) {
                Ok(repeat) => {
                    let after = database.and_then(Database::questions);
                    measured += repeat.load.elapsed_s;
                    highest = highest.or(Some(repeat.load.rates.goodput));
                    going::note_queries(cell, before, after, repeat.load.finished());
                    cell.repeats.push(repeat);
                }
                Err(Problem::Interrupted) => return Err(Problem::Interrupted),
                Err(problem) => {
                    cell.status = report::Status::Failed {
                        why: problem.to_string(),
                    };
                    return Err(problem);
                }
            }
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

    fn finish(
        &self,
        scenario: &Scenario,
        going: Vec<Going>,
        reference: Reference,
        pace: Pace,
    ) -> report::Scenario {
        let why = if self.stop.load(Ordering::Relaxed) {
            "interrupted"
        } else {
            "the time was over"
        };
        let processors = self.place.processors.servers.len();
        let mut shapes = going.iter().flat_map(|one| &one.arm.loads);
        let loops = match shapes.any(|shape| shape.share_of_highest.is_some()) {
            true => "closed for the highest rate, then open at shares of it",
            false => "closed",
        };
        let cells = going.into_iter().flat_map(|one| {
            let rounds = pace.rounds(scenario, &one.arm);
            one.finish(rounds as usize, why, processors)
        });
        report::Scenario {
            name: scenario.name.to_owned(),
            title: scenario.title.to_owned(),
            shows: scenario.shows.to_owned(),
            seed: scenario.seed.map(str::to_owned),
            axis: scenario.axis.map(str::to_owned),
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

/// Where requests begin: an app with paths of its own, and a site, have the whole server.
fn entry(scenario: &Scenario, arm: &Arm) -> &'static str {
    if scenario.has_paths {
        ""
    } else if arm.site.is_some() {
        "/"
    } else {
        arm.runtime.entry()
    }
}
