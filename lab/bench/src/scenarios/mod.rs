//! What is measured: each experiment, with the app that it takes and the servers and loads that it compares.

/// The code of a scenario's app.
macro_rules! code {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../bench/scenarios/",
            $name,
            ".php"
        ))
    };
}

pub(crate) mod app;
mod http_arena;
pub(crate) mod pool;
mod preload;
mod swoole_tests;
mod techempower;
mod webman_guide;

use crate::apps::Content;
use crate::database::Kind;
use crate::load::Amount;
use crate::problem::Result;
use crate::runtimes::{Manner, Runtime, Tuning};
use report::Column;
use std::path::PathBuf;
use std::sync::Arc;

/// The variant that is the same once more: what it differs by is noise.
pub(crate) const AGAIN: &str = "again";

/// What requests spend their time on, which decides how many processes are fair for servers that block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Computing only.
    Computes,
    /// Short queries.
    Queries,
    /// Queries that take their time.
    Waits,
}

/// An experiment.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What its figures say.
    pub(crate) shows: &'static str,
    /// File name of the write-up it repeats.
    pub(crate) seed: Option<&'static str>,
    /// What `x` of its cells counts, if it is a sweep.
    pub(crate) axis: Option<&'static str>,
    pub(crate) database: Option<Kind>,
    /// Its app has paths of its own and decides them itself; requests come from a list.
    pub(crate) has_paths: bool,
    /// What else a server has to answer rightly, asked at `http://127.0.0.1:PORT`.
    pub(crate) rules: Option<fn(&str) -> Result<()>>,
    /// The body that every runtime has to send, where it is known before.
    pub(crate) body: Option<&'static str>,
    /// What is added to the URL that is checked, so that all servers send the same.
    pub(crate) check: &'static str,
    /// What is added to the URL that is measured.
    pub(crate) query: &'static str,
    /// Answers differ from each other in length.
    pub(crate) varies: bool,
    /// It compares ways of running a server: of two kinds that differ in nothing it looks at, one is enough.
    pub(crate) one_of_each: bool,
    /// The shortest measurement that says something about it.
    pub(crate) least_seconds: f64,
    pub(crate) arms: fn(&Around) -> Vec<Arm>,
}

impl Scenario {
    /// What most scenarios have in common.
    const NEW: Self = Self {
        name: "",
        title: "",
        shows: "",
        seed: None,
        axis: None,
        database: None,
        has_paths: false,
        rules: None,
        body: None,
        check: "",
        query: "",
        varies: false,
        one_of_each: false,
        least_seconds: 0.2,
        arms: |_| Vec::new(),
    };
}

/// Kinds of servers that such an experiment leaves out, each where the other is here.
const TWINS: [(&str, &str); 3] = [
    ("hearth-one", "hearth"),
    ("swoole-process", "swoole-base"),
    ("workerman", "webman"),
];

/// Leaves out what differs from another server that is here in nothing that the experiment looks at.
pub(crate) fn without_twins(arms: Vec<Arm>, is_here: impl Fn(&str) -> bool) -> Vec<Arm> {
    let is_twin = |arm: &Arm| {
        let mut twins = TWINS.iter();
        twins.any(|(id, other)| arm.runtime.id() == *id && is_here(other))
    };
    arms.into_iter().filter(|arm| !is_twin(arm)).collect()
}

/// nginx between load and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) access_log: bool,
    /// nginx keeps its connections to the server.
    pub(crate) keep_alive: bool,
}

/// What the arms of a scenario depend on.
pub(crate) struct Around<'a> {
    /// Those that were asked for, found or not.
    pub(crate) runtimes: &'a [&'static dyn Runtime],
    /// Processors of the servers.
    pub(crate) processors: u32,
    /// Connections of a load, unless the scenario says otherwise.
    pub(crate) connections: u32,
}

/// One server of an experiment, and the loads that it gets.
#[derive(Clone)]
pub(crate) struct Arm {
    pub(crate) runtime: &'static dyn Runtime,
    pub(crate) variant: String,
    /// The variant that it is compared with, if that is not the first.
    pub(crate) against: Option<String>,
    pub(crate) column: Column,
    pub(crate) x: Option<f64>,
    pub(crate) workers: u32,
    pub(crate) content: Content,
    pub(crate) ini: Vec<(String, String)>,
    pub(crate) front_controller: bool,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) tls: bool,
    /// The server compresses, and the load says that it takes that.
    pub(crate) compress: bool,
    /// Words of the pool's experiment.
    pub(crate) pool: Vec<String>,
    /// A document root of the user's own, in place of the content.
    pub(crate) site: Option<PathBuf>,
    /// That site's resident script.
    pub(crate) script: Option<PathBuf>,
    /// Why this runtime cannot take part.
    pub(crate) impossible: Option<String>,
    pub(crate) loads: Vec<Shape>,
}

/// A list of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requests {
    /// A file of lines of `[WEIGHT] [METHOD] PATH [BODY|@FILE|chunked:BODY]`.
    Mix(PathBuf),
    /// The same lines.
    Lines(Arc<str>),
    /// An access log, by frequency.
    AccessLog(PathBuf),
}

/// How a load is made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Added to the arm's variant.
    pub(crate) variant: String,
    pub(crate) x: Option<f64>,
    pub(crate) connections: u32,
    pub(crate) keep_alive: bool,
    /// Instead of the run's own length.
    pub(crate) amount: Option<Amount>,
    /// As ab speaks.
    pub(crate) http_1_0: bool,
    /// After how many requests a connection is closed.
    pub(crate) per_connection: Option<u32>,
    /// How many requests are sent at once on each connection.
    pub(crate) pipeline: Option<u32>,
    pub(crate) headers: Vec<String>,
    /// Lengths of files in `{directory}` of the lines, each named by its length.
    pub(crate) bodies: Vec<usize>,
    /// Requests from a list instead of the scenario's one.
    pub(crate) requests: Option<Requests>,
    /// Requests come at this share of what the arm's first load reached, however long answers take.
    pub(crate) share_of_highest: Option<f64>,
}

impl Shape {
    /// Kept connections, for as long as the run measures.
    pub(crate) fn kept(connections: u32) -> Self {
        Self {
            variant: String::new(),
            x: None,
            connections,
            keep_alive: true,
            amount: None,
            http_1_0: false,
            per_connection: None,
            pipeline: None,
            headers: Vec::new(),
            bodies: Vec::new(),
            requests: None,
            share_of_highest: None,
        }
    }
}

impl Arm {
    /// As its maintainers would run it for that work.
    pub(crate) fn fair(
        runtime: &'static dyn Runtime,
        work: Work,
        around: &Around<'_>,
        content: Content,
    ) -> Self {
        let mut shape = Shape::kept(around.connections);
        shape.keep_alive = !runtime.closes_connections();
        let workers = fair_workers(runtime.manner(), work, around);
        let pool = pool_size(runtime.manner(), work, around);
        Self {
            runtime,
            variant: String::new(),
            against: None,
            column: Column::Fair,
            x: None,
            workers,
            content: Content { pool, ..content },
            ini: ini(),
            front_controller: false,
            proxy: None,
            tls: false,
            compress: false,
            pool: Vec::new(),
            site: None,
            script: None,
            impossible: None,
            loads: vec![shape],
        }
    }

    pub(crate) fn tuning(&self) -> Tuning {
        if self.column == Column::AsSeed {
            Tuning::AsSeed
        } else {
            Tuning::Fair
        }
    }

    /// The most connections that any of its loads opens.
    pub(crate) fn connections(&self) -> u32 {
        self.loads
            .iter()
            .map(|load| load.connections)
            .max()
            .unwrap_or(1)
    }
}

/// One process per processor where it serves many at a time or only computes; more where each waits for its queries.
fn fair_workers(manner: Manner, work: Work, around: &Around<'_>) -> u32 {
    match (manner, work) {
        (Manner::Concurrent, _) => around.processors,
        (Manner::OneAtATime, Work::Computes) => around.processors * 2,
        (Manner::OneAtATime, Work::Queries) => around.processors * 4,
        (Manner::OneAtATime, Work::Waits) => around.connections.clamp(around.processors * 4, 64),
    }
}

/// Connections to the database in all are as many for those that share them as for those that have one in each process.
fn pool_size(manner: Manner, work: Work, around: &Around<'_>) -> u32 {
    match (manner, work) {
        (Manner::OneAtATime, _) => 1,
        (Manner::Concurrent, Work::Waits) => (around.connections / around.processors).max(1),
        (Manner::Concurrent, _) => 8,
    }
}

/// PHP's settings, the same for every runtime: opcache on everywhere, the rest as packaged.
pub(crate) fn ini() -> Vec<(String, String)> {
    [
        ("opcache.enable", "1"),
        ("opcache.enable_cli", "1"),
        ("apc.enable_cli", "1"),
        ("memory_limit", "128M"),
        ("zend.assertions", "-1"),
        ("display_errors", "0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// A fair arm of each runtime that a site can be served with.
pub(crate) fn fair_arms(around: &Around<'_>, work: Work, content: &Content) -> Vec<Arm> {
    let serious = around
        .runtimes
        .iter()
        .filter(|runtime| !runtime.is_for_development());
    serious
        .map(|runtime| Arm::fair(*runtime, work, around, content.clone()))
        .collect()
}

/// All experiments, in the order in which they run.
pub(crate) fn all() -> Vec<&'static Scenario> {
    [
        swoole_tests::ALL,
        pool::ALL,
        preload::ALL,
        webman_guide::ALL,
        techempower::ALL,
        http_arena::ALL,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The experiments of those names; a name may be the beginning of several with `*` at its end.
pub(crate) fn named(names: &[String]) -> std::result::Result<Vec<&'static Scenario>, String> {
    if names.is_empty() {
        return Ok(all());
    }
    let mut chosen: Vec<&'static Scenario> = Vec::new();
    for name in names {
        let fits = |scenario: &Scenario| {
            name.strip_suffix('*')
                .map_or(scenario.name == name, |start| {
                    scenario.name.starts_with(start)
                })
        };
        let found: Vec<_> = all()
            .into_iter()
            .filter(|scenario| fits(scenario))
            .collect();
        if found.is_empty() {
            let known: Vec<&str> = all().iter().map(|scenario| scenario.name).collect();
            return Err(format!(
                "no scenario called {name:?}; there are: {}",
                known.join(", ")
            ));
        }
        chosen.extend(
            found
                .into_iter()
                .filter(|one| !chosen.iter().any(|c| c.name == one.name))
                .collect::<Vec<_>>(),
        );
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ALL;

    fn around() -> Around<'static> {
        Around {
            runtimes: ALL,
            processors: 2,
            connections: 100,
        }
    }

    #[test]
    fn each_cell_of_a_scenario_has_a_name_of_its_own() {
        for scenario in all() {
            let mut seen = std::collections::BTreeSet::new();
            for arm in (scenario.arms)(&around()) {
                for load in &arm.loads {
                    let key = format!(
                        "{} {}{} {:?} {:?} {}",
                        arm.runtime.id(),
                        arm.variant,
                        load.variant,
                        arm.column,
                        load.x.or(arm.x),
                        load.connections
                    );
                    assert!(seen.insert(key.clone()), "{}: {key} twice", scenario.name);
                }
            }
            assert!(!seen.is_empty(), "{} measures nothing", scenario.name);
        }
    }

    #[test]
    fn scenarios_are_found_by_name_and_beginning() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            named(&words).map(|found| found.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["basic"]), Ok(vec!["basic"]));
        assert!(names(&["basic*"]).is_ok_and(|found| found.len() > 3));
        assert!(names(&["nothing"]).is_err_and(|e| e.contains("basic_class_load")));
    }
}
