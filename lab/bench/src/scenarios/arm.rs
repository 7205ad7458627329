//! The servers of an experiment, how each is configured, and the loads that it gets.

use super::Around;
use crate::apps::Content;
use crate::load::Amount;
use crate::runtimes::{Manner, Runtime, Tuning};
use report::{CellKey, Column};
use std::path::PathBuf;
use std::sync::Arc;

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

/// nginx between load and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) access_log: bool,
    /// nginx keeps its connections to the server.
    pub(crate) keep_alive: bool,
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
    /// Variables of the server's environment.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) front_controller: bool,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) tls: bool,
    /// The server compresses, and the load says that it takes that.
    pub(crate) compress: bool,
    /// Its queries take their time.
    pub(crate) waits: bool,
    /// How many connections the database admits. `None` is the number that it was started with.
    pub(crate) admitted: Option<u32>,
    /// Words of the pool's experiment.
    pub(crate) pool: Vec<String>,
    /// A document root of the user's own, in place of the content.
    pub(crate) site: Option<PathBuf>,
    /// That site's resident script.
    pub(crate) script: Option<PathBuf>,
    /// Why this runtime cannot take part.
    pub(crate) impossible: Option<String>,
    pub(crate) loads: Vec<Shape>,
    /// A claim or a piece of advice rests on its figures: it is measured more often than others.
    pub(crate) decides: bool,
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
            environment: Vec::new(),
            front_controller: false,
            proxy: None,
            tls: false,
            compress: false,
            waits: work == Work::Waits,
            admitted: None,
            pool: Vec::new(),
            site: None,
            script: None,
            impossible: None,
            loads: vec![shape],
            decides: false,
        }
    }

    /// What tells its cell under that load from the others of its scenario.
    pub(crate) fn key(&self, load: &Shape) -> CellKey {
        let variants = [self.variant.as_str(), load.variant.as_str()];
        CellKey {
            runtime: self.runtime.id().to_owned(),
            variant: variants
                .into_iter()
                .filter(|variant| !variant.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
            column: self.column,
            x: load.x.or(self.x),
            connections: load.connections,
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
