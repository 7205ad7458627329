//! The whole of a run: scenarios one after the other, in each the servers in turn, round after round.

use crate::apps;
use crate::check::Reference;
use crate::live::Live;
use crate::load::{Amount, Generator, Load};
use crate::mariadb::{self, MariaDb};
use crate::place::{Place, certificate};
use crate::probe;
use crate::problem::{Problem, Result};
use crate::proxy;
use crate::runtimes::{Found, Launch, Server, Tools, setting};
use crate::scenarios::{Arm, Scenario, Shape};
use crate::trial::{Trials, Turn};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use report::{self, Cell, Repeat, Status};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How thoroughly a run measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effort {
    pub(crate) kind: report::Effort,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    pub(crate) warmup: f64,
    /// No measurement begins after this.
    pub(crate) budget: Option<Duration>,
    pub(crate) seed: u64,
}

/// What a run works with.
pub(crate) struct Matrix<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) place: &'a Place,
    pub(crate) effort: Effort,
    pub(crate) stop: &'a AtomicBool,
    /// Pages of the user's own site that are compared.
    pub(crate) paths: Vec<String>,
}

/// An arm of a scenario as it goes.
struct Going {
    arm: Arm,
    /// Where the server is, or why there is none.
    program: std::result::Result<PathBuf, Status>,
    cells: Vec<Cell>,
}

/// What the database says that it was asked.
const QUERIES: &str = "queries per request, counted by the database";

impl Matrix<'_> {
    fn trials(&self) -> Trials<'_> {
        Trials {
            generator: Generator {
                program: self.tools.hearth.clone(),
                processors: self.place.processors.clone(),
            },
            result: self.place.path().join("load.json"),
            seconds: self.effort.seconds,
            warmup: self.effort.warmup,
            stop: self.stop,
        }
    }

    /// Interrupted, or no time for another measurement.
    fn is_over(&self, deadline: Option<Instant>) -> bool {
        self.stop.load(Ordering::Relaxed)
            || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Runs one scenario on all its servers.
    pub(crate) fn scenario(
        &self,
        scenario: &Scenario,
        arms: Vec<Arm>,
        database: Option<&MariaDb>,
        deadline: Option<Instant>,
        live: &mut Live,
    ) -> report::Scenario {
        let mut going: Vec<Going> =
            once_each(arms.into_iter().map(|arm| self.prepare(arm)).collect());
        if scenario.needs_database && database.is_none() {
            let why = "no database: MariaDB is not installed (hearth bench doctor)".to_owned();
            going
                .iter_mut()
                .for_each(|one| one.refuse(&Status::Failed { why: why.clone() }));
        }
        let database = database.filter(|_| scenario.needs_database);
        let mut reference = Reference::of_body(scenario.body);
        let mut random = SmallRng::seed_from_u64(self.effort.seed);
        for block in 0..self.effort.rounds {
            let mut order: Vec<usize> = (0..going.len())
                .filter(|at| going[*at].program.is_ok())
                .collect();
            order.shuffle(&mut random);
            for (turn, at) in order.into_iter().enumerate() {
                if self.is_over(deadline) {
                    break;
                }
                let turn = Turn {
                    block,
                    order: u32::try_from(turn).unwrap_or(0),
                };
                let one = &mut going[at];
                live.step(
                    scenario.name,
                    one.arm.runtime.name(),
                    block + 1,
                    self.effort.rounds,
                );
                if let Err(problem) = self.turn(scenario, one, database, &mut reference, turn) {
                    one.end(&problem);
                }
            }
        }
        self.finish(scenario, going, reference)
    }

    fn prepare(&self, arm: Arm) -> Going {
        let program = match (&arm.impossible, self.tools.find(arm.runtime)) {
            (Some(why), _) => Err(Status::NotApplicable { why: why.clone() }),
            (None, Found::Here { path, .. }) => Ok(path),
            (None, Found::Missing { why, how }) => Err(Status::NotInstalled { why, how }),
        };
        let cell = |load: &Shape| Cell {
            runtime: arm.runtime.id().to_owned(),
            variant: [arm.variant.as_str(), load.variant.as_str()]
                .iter()
                .filter(|v| !v.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(", "),
            column: arm.column,
            x: load.x.or(arm.x),
            connections: load.connections,
            workers: Some(arm.workers),
            keep_alive: load.keep_alive,
            status: program.as_ref().err().cloned().unwrap_or_default(),
            ..Cell::default()
        };
        let cells = arm.loads.iter().map(cell).collect();
        Going {
            arm,
            program,
            cells,
        }
    }

    /// A fresh server, checked, warmed up and measured under each of the arm's loads.
    fn turn(
        &self,
        scenario: &Scenario,
        one: &mut Going,
        database: Option<&MariaDb>,
        reference: &mut Reference,
        turn: Turn,
    ) -> Result<()> {
        let Ok(program) = one.program.clone() else {
            return Ok(());
        };
        let mut server = self.start(&program, one, database)?;
        let path = if one.arm.site.is_some() {
            "/"
        } else {
            one.arm.runtime.entry()
        };
        let entry = format!("{}{path}", server.base);
        let trials = self.trials();
        self.check(scenario, one, &server.base, &entry, reference)?;
        let url = format!("{entry}{}", scenario.query);
        let mut is_warm = false;
        for (shape, cell) in one.arm.loads.iter().zip(&mut one.cells) {
            let mut load = trials.load(
                shape,
                &url,
                (!scenario.varies && !one.arm.compress).then_some(reference.length),
                turn,
            );
            if one.arm.compress {
                load.headers.push("Accept-Encoding: gzip".to_owned());
            }
            if !is_warm && (shape.amount.is_none() || one.arm.column == report::Column::Fair) {
                trials.warm(&load)?;
                is_warm = true;
            }
            let questions = database.and_then(MariaDb::questions);
            match trials.measure(&load, &mut server, database, turn) {
                Ok(repeat) => {
                    note_queries(
                        cell,
                        questions,
                        database.and_then(MariaDb::questions),
                        repeat.load.finished(),
                    );
                    cell.repeats.push(repeat);
                }
                Err(Problem::Interrupted) => return Err(Problem::Interrupted),
                Err(problem) => {
                    cell.status = Status::Failed {
                        why: problem.to_string(),
                    };
                    return Err(problem);
                }
            }
        }
        Ok(())
    }

    /// The server does the same work as the others: it sends the same bytes.
    fn check(
        &self,
        scenario: &Scenario,
        one: &Going,
        base: &str,
        entry: &str,
        reference: &mut Reference,
    ) -> Result<()> {
        let of = format!("{} of {}", one.arm.runtime.id(), scenario.name);
        let url = format!("{entry}{}", scenario.check);
        if one.arm.tls {
            return self.check_tls(&url, reference);
        }
        if one.arm.site.is_some() {
            return reference.compare_site(base, &self.paths, one.arm.runtime.id());
        }
        reference.compare(&probe::get(&url)?, &of)
    }

    /// With TLS, by the load generator: it takes the certificate that this run made.
    fn check_tls(&self, url: &str, reference: &Reference) -> Result<()> {
        let load = Load {
            amount: Amount::Requests(1, 5.0),
            sha256: reference.sha256.clone(),
            ..Load::closed(url, 1, 5.0)
        };
        let trials = self.trials();
        let run = trials
            .generator
            .run(&load, &[], &trials.result, self.stop)?;
        let why = run.error_samples.first().map_or_else(
            || "no answer".to_owned(),
            |sample| format!("{}: {}", sample.class.name(), sample.text),
        );
        if run.counts.good == 1 {
            Ok(())
        } else {
            Err(Problem::Failed(why))
        }
    }

    /// The app and everything else that the arm's server is started with.
    fn launch(&self, arm: &Arm, database: Option<&MariaDb>) -> Result<Launch> {
        let column = if arm.column == report::Column::AsSeed {
            "as-seed"
        } else {
            "fair"
        };
        let name = format!("{}-{column}", arm.runtime.id());
        let content = apps::Content {
            database: database.map(|db| {
                [
                    db.dsn(),
                    mariadb::USER.to_owned(),
                    mariadb::PASSWORD.to_owned(),
                ]
            }),
            ..arm.content.clone()
        };
        let app = match &arm.site {
            Some(site) => site.clone(),
            None => apps::write(
                &content,
                arm.runtime.form(),
                &format!("app-{name}"),
                self.place,
            )?,
        };
        let mut environment: Vec<(String, String)> = database
            .map(|db| ("BENCH_GO_DSN".to_owned(), db.go_dsn()))
            .into_iter()
            .collect();
        if let Some(database) = database.filter(|_| !arm.pool.is_empty()) {
            environment.push((
                "POOL_EXPERIMENT".to_owned(),
                pool_experiment(self.tools, &app, &arm.pool, database)?,
            ));
        }
        Ok(Launch {
            app,
            script: arm.script.clone(),
            workers: arm.workers,
            connections: arm.connections(),
            tuning: arm.tuning(),
            front_controller: arm.front_controller,
            tls: if arm.tls {
                Some(certificate(self.place)?)
            } else {
                None
            },
            compress: arm.compress,
            ini: arm.ini.clone(),
            environment,
            name,
        })
    }

    fn start(
        &self,
        program: &std::path::Path,
        one: &mut Going,
        database: Option<&MariaDb>,
    ) -> Result<Server> {
        let arm = &one.arm;
        let launch = self.launch(arm, database)?;
        let mut server = arm
            .runtime
            .start(program, self.tools, &launch, self.place)?;
        if let Some(proxy) = arm.proxy {
            proxy::put_before(
                &mut server,
                proxy,
                arm.runtime.entry(),
                self.tools,
                self.place,
            )?;
        }
        if one.cells.iter().all(|cell| cell.config.is_empty()) {
            let mut config = server.settings.clone();
            if database.is_some() {
                config.extend(MariaDb::settings());
            }
            let of_php = if arm.site.is_none() {
                apps::settings(arm.runtime.form(), &launch.app, &server.base)
            } else {
                Vec::new()
            };
            config.extend(
                of_php
                    .into_iter()
                    .map(|(name, value)| setting(&name, value)),
            );
            one.cells
                .iter_mut()
                .for_each(|cell| cell.config.clone_from(&config));
        }
        Ok(server)
    }

    fn finish(
        &self,
        scenario: &Scenario,
        going: Vec<Going>,
        reference: Reference,
    ) -> report::Scenario {
        let rounds = self.effort.rounds as usize;
        let why = if self.stop.load(Ordering::Relaxed) {
            "interrupted"
        } else {
            "the time was over"
        };
        let processors = self.place.processors.servers.len();
        let cells = going.into_iter().flat_map(|one| {
            let slots = slots(&one.arm);
            one.cells.into_iter().map(move |mut cell| {
                if cell.repeats.len() >= rounds {
                    cell.status = Status::Measured;
                } else if matches!(cell.status, Status::Unfinished { .. }) {
                    cell.status = Status::Unfinished {
                        why: format!("{why} after {} of {rounds} rounds", cell.repeats.len()),
                    };
                }
                cell.limit = cell.repeats.last().map(|last: &Repeat| {
                    crate::limit::limit(&last.load, &last.cpu, processors, slots)
                });
                cell
            })
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
            loops: "closed".to_owned(),
            cells: cells.collect(),
            ..report::Scenario::default()
        }
    }
}

/// One cell for each server that is not here or cannot take part: it says all that its others would.
fn once_each(going: Vec<Going>) -> Vec<Going> {
    let mut kept: Vec<Going> = Vec::new();
    for mut one in going {
        let says_the_same = |other: &Going| {
            other.arm.runtime.id() == one.arm.runtime.id()
                && other.program.is_err()
                && other.program.as_ref().err() == one.program.as_ref().err()
        };
        if one.program.is_err() {
            if kept.iter().any(says_the_same) {
                continue;
            }
            one.cells.truncate(1);
        }
        kept.push(one);
    }
    kept
}

/// Requests that can run at a time, if each has a process of its own.
fn slots(arm: &Arm) -> Option<u32> {
    let blocks =
        arm.runtime.manner() == crate::runtimes::Manner::OneAtATime && arm.runtime.id() != "apache";
    blocks.then_some(arm.workers)
}

/// The parameters of the pool's experiment as its app takes them, completed and checked by its own PHP code.
fn pool_experiment(
    tools: &Tools,
    app: &Path,
    words: &[String],
    database: &MariaDb,
) -> Result<String> {
    let php = tools
        .program("php", &["php"])
        .ok_or_else(|| Problem::failed("no php"))?;
    let code = "require $argv[1]; try { echo Parameters::fromArguments(array_slice($argv, 2))->toJson(); } \
                catch (InvalidArgumentException $e) { fwrite(STDERR, $e->getMessage()); exit(2); }";
    let mut command = std::process::Command::new(php);
    command
        .args(["-r", code, "--"])
        .arg(app.join("parameters.php"));
    // What is given comes later and holds.
    let ours = [
        ("dsn", database.dsn()),
        ("username", mariadb::USER.to_owned()),
        ("password", mariadb::PASSWORD.to_owned()),
    ];
    command
        .args(ours.map(|(name, value)| format!("--connection.{name}={value}")))
        .args(words);
    let output = command.output().map_err(Problem::failed)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Problem::Usage(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ))
    }
}

/// "Did it even happen": what the database counted beside what was answered.
fn note_queries(cell: &mut Cell, before: Option<u64>, after: Option<u64>, requests: u64) {
    if let (Some(before), Some(after)) = (before, after) {
        let asked = after.saturating_sub(before);
        let counted = asked as f64 / requests.max(1) as f64;
        cell.observed.retain(|one| one.name != QUERIES);
        cell.observed
            .push(setting(QUERIES, format!("{counted:.2}")));
    }
}

impl Going {
    /// Nothing of it can be measured.
    fn refuse(&mut self, status: &Status) {
        if self.program.is_ok() {
            self.program = Err(status.clone());
            self.cells
                .iter_mut()
                .for_each(|cell| cell.status = status.clone());
        }
    }

    /// It failed: what it has is kept, and it gets no further turn.
    fn end(&mut self, problem: &Problem) {
        if *problem == Problem::Interrupted {
            return;
        }
        let failed = Status::Failed {
            why: problem.to_string(),
        };
        self.program = Err(failed.clone());
        for cell in &mut self.cells {
            if !matches!(cell.status, Status::Failed { .. }) {
                cell.status = failed.clone();
            }
        }
    }
}
