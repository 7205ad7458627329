//! The private databases of a run: one server of each kind that a scenario asks for.

pub(crate) mod mariadb;
pub(crate) mod postgresql;

use crate::place::Place;
use crate::problem::Result;
use crate::process::Process;
use crate::runtimes::{Found, Tools};
use report::Setting;
use std::collections::BTreeMap;

/// The user and the password with which apps log in.
pub(crate) const USER: &str = "bench";
pub(crate) const PASSWORD: &str = "bench";

/// Which database a scenario needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    MariaDb,
    PostgreSql,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::MariaDb, Self::PostgreSql];

    /// Its short name in results.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::PostgreSql => "postgresql",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::PostgreSql => "PostgreSQL",
        }
    }

    /// Found or not.
    pub(crate) fn find(self, tools: &Tools) -> Found {
        match self {
            Self::MariaDb => mariadb::find(tools),
            Self::PostgreSql => postgresql::find(tools),
        }
    }

    fn start(self, tools: &Tools, place: &Place) -> Result<Database> {
        match self {
            Self::MariaDb => mariadb::start(tools, place),
            Self::PostgreSql => postgresql::start(tools, place),
        }
    }
}

/// A database server; ended when dropped.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) process: Process,
    /// For PDO.
    pub(crate) dsn: String,
    /// For Go's driver, if the program in Go has one.
    pub(crate) go_dsn: Option<String>,
    /// Its configuration.
    pub(crate) settings: Vec<Setting>,
    /// Asks it how many statements clients have sent.
    counter: Option<mariadb::Counter>,
}

impl Database {
    /// Statements that clients have sent so far, where the database counts them at once.
    pub(crate) fn questions(&self) -> Option<u64> {
        self.counter.as_ref()?.read()
    }

    /// DSN, user and password.
    pub(crate) fn login(&self) -> [String; 3] {
        [self.dsn.clone(), USER.to_owned(), PASSWORD.to_owned()]
    }
}

/// Those that run, and why the others do not.
#[derive(Debug, Default)]
pub(crate) struct Databases(BTreeMap<Kind, std::result::Result<Database, String>>);

impl Databases {
    /// Starts one of each kind.
    pub(crate) fn start(kinds: impl Iterator<Item = Kind>, tools: &Tools, place: &Place) -> Self {
        let mut all = BTreeMap::new();
        for kind in kinds {
            all.entry(kind).or_insert_with(|| {
                kind.start(tools, place)
                    .map_err(|problem| format!("no database: {problem}"))
            });
        }
        Self(all)
    }

    /// The server of that kind, or why there is none.
    pub(crate) fn get(&self, kind: Kind) -> std::result::Result<&Database, String> {
        match self.0.get(&kind) {
            Some(Ok(database)) => Ok(database),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("{} was not asked for", kind.name())),
        }
    }

    /// What did not start, each in a sentence.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &String> {
        self.0.values().filter_map(|one| one.as_ref().err())
    }
}
