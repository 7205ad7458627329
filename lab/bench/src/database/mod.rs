//! The private databases of a run: one server of each kind that a scenario asks for.

pub(crate) mod mariadb;
pub(crate) mod postgresql;
mod redis;
mod sqlite;
mod tables;

use crate::apps::{Content, quoted};
use crate::problem::Result;
use crate::process::Process;
use crate::run_dir::RunDir;
use crate::runtimes::{Found, Tools};
use report::Setting;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The user and the password of the apps.
pub(crate) const USER: &str = "bench";
pub(crate) const PASSWORD: &str = "bench";

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    MariaDb,
    PostgreSql,
    Redis,
    Sqlite,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::MariaDb, Self::PostgreSql, Self::Redis, Self::Sqlite];

    /// Returns the database's short name in results.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::PostgreSql => "postgresql",
            Self::Redis => "redis",
            Self::Sqlite => "sqlite",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::PostgreSql => "PostgreSQL",
            Self::Redis => "Redis",
            Self::Sqlite => "SQLite",
        }
    }

    /// Looks for the database.
    pub(crate) fn find(self, tools: &Tools) -> Found {
        match self {
            Self::MariaDb => mariadb::find(tools),
            Self::PostgreSql => postgresql::find(tools),
            Self::Redis => redis::find(tools),
            Self::Sqlite => sqlite::find(tools),
        }
    }

    fn start(self, tools: &Tools, dir: &RunDir) -> Result<Database> {
        match self {
            Self::MariaDb => mariadb::start(tools, dir),
            Self::PostgreSql => postgresql::start(tools, dir),
            Self::Redis => redis::start(tools, dir),
            Self::Sqlite => sqlite::start(tools, dir),
        }
    }

    /// Returns the kind that stands in for it on this machine: SQLite if MariaDB is missing, or if the user asked for it.
    pub(crate) fn here(self, tools: &Tools) -> Self {
        let is_here = |kind: Self| matches!(kind.find(tools), Found::Here { .. });
        let alone = || !is_here(self) && is_here(Self::Sqlite);
        if self == Self::MariaDb && tools.on_sqlite.unwrap_or_else(alone) {
            return Self::Sqlite;
        }
        self
    }
}

/// A source of the number of statements that clients have sent.
#[derive(Debug)]
enum Counter {
    MariaDb(mariadb::Client),
    /// Redis, by its socket.
    Redis(PathBuf),
}

/// A running database; its server ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) kind: Kind,
    /// The server's process; none for SQLite, which is part of the app's own processes.
    pub(crate) process: Option<Process>,
    /// The DSN for PDO; for Redis the path of its socket.
    pub(crate) dsn: String,
    /// The DSN for Go's driver, if the program in Go has one.
    pub(crate) go_dsn: Option<String>,
    /// The database's configuration, for the report.
    pub(crate) settings: Vec<Setting>,
    /// The source of the number of statements that clients have sent.
    counter: Option<Counter>,
    /// A folder in memory, removed when it is dropped.
    #[expect(dead_code, reason = "it is there to be dropped")]
    memory: Option<tempfile::TempDir>,
}

impl Database {
    /// Returns the number of statements that clients have sent so far, if the database counts them at once.
    pub(crate) fn questions(&self) -> Option<u64> {
        match self.counter.as_ref()? {
            Counter::MariaDb(client) => client.read(),
            Counter::Redis(socket) => redis::commands(socket),
        }
    }

    /// Sets how many connections the database admits from now on; `None` is the number that it was started with.
    pub(crate) fn admit(&self, connections: Option<u32>) -> Result<()> {
        match &self.counter {
            Some(Counter::MariaDb(client)) => {
                client.admit(connections.unwrap_or(mariadb::CONNECTIONS))
            }
            _ => Ok(()),
        }
    }

    /// Returns DSN, user and password.
    fn login(&self) -> [String; 3] {
        [self.dsn.clone(), USER.to_owned(), PASSWORD.to_owned()]
    }

    /// Writes the database's address into an app.
    pub(crate) fn configure(&self, content: &mut Content) {
        match self.kind {
            Kind::Redis => content.constants.push(("REDIS", quoted(&self.dsn))),
            _ => content.database = Some(self.login()),
        }
    }
}

/// The databases of a run, one of each kind, started when a scenario first asks for one: what is measured before has the
/// machine to itself.
#[derive(Debug)]
pub(crate) struct Databases<'a> {
    tools: &'a Tools,
    dir: &'a RunDir,
    started: BTreeMap<Kind, OnceCell<std::result::Result<Database, String>>>,
}

impl<'a> Databases<'a> {
    /// Returns the databases, none of which runs yet.
    pub(crate) fn new(tools: &'a Tools, dir: &'a RunDir) -> Self {
        let cells = Kind::ALL.map(|kind| (kind, OnceCell::new()));
        Self {
            tools,
            dir,
            started: cells.into(),
        }
    }

    /// Returns the database of that kind, or why there is none.
    pub(crate) fn get(&self, kind: Kind) -> std::result::Result<&Database, String> {
        let start = || {
            let started = kind.start(self.tools, self.dir);
            started.map_err(|problem| format!("no database: {problem}"))
        };
        let cell = self.started.get(&kind);
        let started = cell.map(|cell| cell.get_or_init(start));
        started.map_or_else(
            || Err(format!("no {}", kind.name())),
            |one| one.as_ref().map_err(Clone::clone),
        )
    }

    /// Returns why databases did not start, in a sentence each.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &String> {
        let all = self.started.values().filter_map(OnceCell::get);
        all.filter_map(|one| one.as_ref().err())
    }
}
