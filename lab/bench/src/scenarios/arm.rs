//! The arms of an experiment: servers, their configuration, and their loads.

use super::Around;
use crate::apps::Content;
use crate::load::Amount;
use crate::runtimes::{Manner, Runtime, Tuning};
use report::{CellKey, Column};
use std::path::PathBuf;
use std::sync::Arc;

/// The work of a request, which decides what number of processes is fair for servers that block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Computing only.
    Computes,
    /// Short queries.
    Queries,
    /// Slow queries.
    Waits,
}

/// nginx between load and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) access_log: bool,
    /// Whether nginx keeps its connections to the server.
    pub(crate) keep_alive: bool,
}

/// One server of an experiment, and its loads.
#[derive(Clone)]
pub(crate) struct Arm {
    pub(crate) runtime: &'static dyn Runtime,
    pub(crate) variant: String,
    /// The variant that this one is compared with, if that is not the first.
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
    /// Whether the server compresses, and the load accepts that.
    pub(crate) compress: bool,
    /// Whether its queries are slow.
    pub(crate) waits: bool,
    /// How many connections the database admits; `None` is the number that it was started with.
    pub(crate) admitted: Option<u32>,
    /// Arguments of the pool's experiment.
    pub(crate) pool: Vec<String>,
    /// The document root of the user's own site, in place of the content.
    pub(crate) site: Option<PathBuf>,
    /// The resident script of that site.
    pub(crate) script: Option<PathBuf>,
    /// Why this runtime cannot take part.
    pub(crate) impossible: Option<String>,
    pub(crate) loads: Vec<Shape>,
    /// Whether a claim or advice rests on its figures: then it is measured more often than others.
    pub(crate) decides: bool,
}

/// A list of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requests {
    /// A file of lines of `[WEIGHT] [METHOD] PATH [BODY|@FILE|chunked:BODY]`.
    Mix(PathBuf),
    /// Lines of that format, in memory.
    Lines(Arc<str>),
    /// An access log, by frequency.
    AccessLog(PathBuf),
}

/// The shape of a load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// The text that is added to the arm's variant.
    pub(crate) variant: String,
    pub(crate) x: Option<f64>,
    pub(crate) connections: u32,
    pub(crate) keep_alive: bool,
    /// The amount of the load, if it differs from the run's.
    pub(crate) amount: Option<Amount>,
    /// Whether the load uses HTTP/1.0, as ab does.
    pub(crate) http_1_0: bool,
    /// The number of requests after which a connection is closed.
    pub(crate) per_connection: Option<u32>,
    /// The number of requests that are sent at once on each connection.
    pub(crate) pipeline: Option<u32>,
    pub(crate) headers: Vec<String>,
    /// Lengths of the files in `{directory}` of the lines, each named by its length.
    pub(crate) bodies: Vec<usize>,
    /// Requests from a list instead of the scenario's one.
    pub(crate) requests: Option<Requests>,
    /// The share of the first load's rate at which requests are sent, in an open loop.
    pub(crate) share_of_highest: Option<f64>,
}

impl Shape {
    /// Returns a load on kept connections, for as long as the run measures.
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
    /// Returns the arm as the server's maintainers would run it for that work.
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

    /// Returns what distinguishes the cell of that load from the others of its scenario.
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

    /// Returns the most connections that any of its loads opens.
    pub(crate) fn connections(&self) -> u32 {
        self.loads
            .iter()
            .map(|load| load.connections)
            .max()
            .unwrap_or(1)
    }
}

/// Returns one process per processor if a process serves many requests at a time; more for those that block: twice as
/// many to compute, and at least four times as many to wait for queries.
fn fair_workers(manner: Manner, work: Work, around: &Around<'_>) -> u32 {
    match (manner, work) {
        (Manner::Concurrent, _) => around.processors,
        (Manner::OneAtATime, Work::Computes) => around.processors * 2,
        (Manner::OneAtATime, Work::Queries) => around.processors * 4,
        (Manner::OneAtATime, Work::Waits) => around.connections.clamp(around.processors * 4, 64),
    }
}

/// Returns the connections of one process's pool: in all, servers that share connections have as many as those with one
/// per process.
fn pool_size(manner: Manner, work: Work, around: &Around<'_>) -> u32 {
    match (manner, work) {
        (Manner::OneAtATime, _) => 1,
        (Manner::Concurrent, Work::Waits) => (around.connections / around.processors).max(1),
        (Manner::Concurrent, _) => 8,
    }
}

/// Returns PHP's settings, the same for every runtime: opcache on everywhere, the rest as packaged.
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

/// Returns a fair arm of each runtime that can serve a site in production.
pub(crate) fn fair_arms(around: &Around<'_>, work: Work, content: &Content) -> Vec<Arm> {
    let serious = around
        .runtimes
        .iter()
        .filter(|runtime| !runtime.is_for_development());
    serious
        .map(|runtime| Arm::fair(*runtime, work, around, content.clone()))
        .collect()
}
