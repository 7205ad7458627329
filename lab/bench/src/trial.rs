//! One measurement: a load on a running server, and its cost for every process that took part.

use crate::calibration;
use crate::database::Database;
use crate::load::{Amount, Generator, Load};
use crate::problem::{Problem, Result};
use crate::procfs::{Reading, proportional_memory};
use crate::runtimes::Server;
use crate::scenarios::{Requests, Shape};
use report::{Repeat, Role, Use};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The share of the machine used by others beyond which a repeat is marked.
const NOISE: f64 = 0.05;

/// The settings of measurements.
#[derive(Debug)]
pub(crate) struct Trials<'a> {
    pub(crate) generator: Generator,
    /// The folder with the load's requests and result.
    pub(crate) directory: PathBuf,
    pub(crate) seconds: f64,
    pub(crate) warmup: f64,
    /// Whether the warm-up lasts until its rate is steady.
    pub(crate) until_steady: bool,
    /// The most seconds of a load, whatever its own amount.
    pub(crate) longest: f64,
    pub(crate) stop: &'a AtomicBool,
}

/// The position of a turn: its round, and its place in that round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) block: u32,
    pub(crate) order: u32,
}

impl Trials<'_> {
    /// Returns the load of a shape on a URL whose good bodies have that length.
    pub(crate) fn load(
        &self,
        shape: &Shape,
        url: &str,
        length: Option<u64>,
        turn: Turn,
    ) -> Result<Load> {
        let mut load = Load::closed(url, shape.connections, self.seconds);
        load.keep_alive = shape.keep_alive;
        load.http_1_0 = shape.http_1_0;
        load.length = length;
        load.per_connection = shape.per_connection;
        load.pipeline = shape.pipeline;
        load.headers.clone_from(&shape.headers);
        load.requests = shape
            .requests
            .as_ref()
            .map(|requests| self.written(requests, &shape.bodies))
            .transpose()?;
        load.seed = u64::from(turn.block) + 1;
        if let Some(amount) = shape.amount {
            load.amount = amount.within(self.longest);
        }
        Ok(load)
    }

    /// Writes the requests to a file that the load can read.
    fn written(&self, requests: &Requests, bodies: &[usize]) -> Result<Requests> {
        let Requests::Lines(lines) = requests else {
            return Ok(requests.clone());
        };
        let directory = self.directory.join("requests");
        std::fs::create_dir_all(&directory).map_err(Problem::failed)?;
        for length in bodies {
            let file = directory.join(length.to_string());
            if !file.exists() {
                std::fs::write(&file, vec![b'x'; *length]).map_err(Problem::failed)?;
            }
        }
        let file = directory.join("lines");
        let lines = lines.replace("{directory}", &directory.display().to_string());
        std::fs::write(&file, lines).map_err(Problem::failed)?;
        Ok(Requests::Mix(file))
    }

    /// Runs a load to its end; `sessions` are those whose CPU time counts as the servers'.
    pub(crate) fn run(&self, load: &Load, sessions: &[u32]) -> Result<measure::Run> {
        let result = self.directory.join("load.json");
        self.generator.run(load, sessions, &result, self.stop)
    }

    /// Sends load that is not measured: caches fill, processes are spawned, code paths of the kernel warm up.
    pub(crate) fn warm(&self, load: &Load) -> Result<()> {
        let load = Load {
            amount: Amount::Seconds(self.warmup),
            until_steady: self.until_steady,
            ..load.clone()
        };
        self.run(&load, &[]).map(|_| ())
    }

    /// Measures once.
    pub(crate) fn measure(
        &self,
        load: &Load,
        server: &mut Server,
        database: Option<&Database>,
        turn: Turn,
    ) -> Result<Repeat> {
        let groups = groups(server, database);
        let all: Vec<u32> = groups
            .iter()
            .flat_map(|(_, _, sessions)| sessions.clone())
            .collect();
        let calibration = calibration::measure(self.generator.processors.servers.first().copied());
        let processors = &self.generator.processors.servers;
        let readings = || -> Vec<Reading> {
            let sessions = groups.iter().map(|(_, _, sessions)| sessions);
            sessions.map(|s| Reading::of(s, processors)).collect()
        };
        let before = readings();
        let run = self.run(load, &all)?;
        let after = readings();
        if let Some(why) = server.failure() {
            return Err(Problem::Failed(format!("while it was measured {why}")));
        }
        let mut used: Vec<Use> = Vec::new();
        for (((role, name, sessions), before), after) in groups.iter().zip(&before).zip(&after) {
            let (one, memory) = (after.since(before), proportional_memory(sessions));
            used.push(use_of(*role, name, &one, &run, memory));
        }
        used.push(client(&run));
        Ok(Repeat {
            block: turn.block,
            order: turn.order,
            calibration,
            noisy: noise(&run),
            load: run,
            cpu: used,
        })
    }
}

/// Returns the processes by role, with name and sessions.
fn groups(server: &Server, database: Option<&Database>) -> Vec<(Role, String, Vec<u32>)> {
    let mut groups: Vec<(Role, String, Vec<u32>)> = server
        .processes
        .iter()
        .map(|(role, process)| (*role, process.name().to_owned(), vec![process.session()]))
        .collect();
    if let Some(process) = database.and_then(|database| database.process.as_ref()) {
        let name = process.name().to_owned();
        groups.push((Role::Database, name, vec![process.session()]));
    }
    groups
}

fn use_of(role: Role, name: &str, used: &crate::procfs::Used, run: &measure::Run, pss: u64) -> Use {
    let requests = run.finished().max(1) as f64;
    Use {
        role,
        name: name.to_owned(),
        processes: u32::try_from(used.processes).unwrap_or(u32::MAX),
        cpu_us_per_request: used.cpu_s * 1e6 / requests,
        user_share: used.user_share,
        switches_per_request: (used.voluntary + used.involuntary) as f64 / requests,
        involuntary_per_request: used.involuntary as f64 / requests,
        pss_bytes: pss,
        cores: used.cpu_s / run.elapsed_s.max(1e-9),
    }
}

fn client(run: &measure::Run) -> Use {
    Use {
        role: Role::Client,
        name: "hearth load".to_owned(),
        processes: 1,
        cpu_us_per_request: run.cpu.client_us_per_request,
        cores: run.cpu.client_s / run.elapsed_s.max(1e-9),
        ..Use::default()
    }
}

fn noise(run: &measure::Run) -> Option<String> {
    let mut causes = Vec::new();
    if run.cpu.others > NOISE {
        causes.push(format!(
            "other processes used {:.0} % of the machine",
            run.cpu.others * 100.0
        ));
    }
    if run.cpu.stolen > 0.01 {
        causes.push(format!(
            "the hypervisor took {:.0} %",
            run.cpu.stolen * 100.0
        ));
    }
    (!causes.is_empty()).then(|| causes.join(", "))
}
