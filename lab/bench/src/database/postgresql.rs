//! A private PostgreSQL with the table of HttpArena's profiles.

use super::{Database, Kind, USER};
use crate::problem::{Problem, Result};
use crate::process::{Process, complete};
use crate::run_dir::RunDir;
use crate::runtimes::{Found, Tools, setting, version_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const START: Duration = Duration::from_secs(60);
/// The number that HttpArena's runner uses.
const CONNECTIONS: u32 = 256;

/// Looks for PostgreSQL.
pub(super) fn find(tools: &Tools) -> Found {
    let given = tools.given.get("postgresql").cloned();
    let Some(path) = given
        .or_else(newest)
        .or_else(|| tools.program("postgresql", &["postgres"]))
    else {
        return Found::missing(
            "no postgres",
            "apt install postgresql (the service need not run)",
        );
    };
    Found::Here {
        version: version_of(&path, &["--version"]).unwrap_or_default(),
        path,
    }
}

/// Returns the newest version: Debian keeps each version's programs in a directory of its own.
fn newest() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin/postgres")))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.pop()
}

/// Creates an empty database cluster.
fn install(program: &Path, data: &Path, dir: &RunDir) -> Result<()> {
    let mut install = dir.command(&program.with_file_name("initdb"));
    install.args([
        "--auth=trust",
        "--no-sync",
        "--encoding=UTF8",
        "--locale=C",
        "--no-instructions",
    ]);
    install.arg(format!("--username={USER}")).arg(data);
    complete("initdb", &mut install).map(|_| ())
}

/// Creates a data directory and starts a server on it that listens on a Unix socket only.
pub(super) fn start(tools: &Tools, dir: &RunDir) -> Result<Database> {
    let path = match find(tools) {
        Found::Here { path, .. } => path,
        Found::Missing { why, .. } => return Err(Problem::Failed(why)),
    };
    let own = dir.fresh("postgresql")?;
    let data = own.join("data");
    install(&path, &data, dir)?;
    let mut command = dir.command(&path);
    command.arg("-D").arg(&data);
    for value in [
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories={}", own.display()),
        format!("max_connections={CONNECTIONS}"),
        "fsync=off".to_owned(),
        // Shared memory in the data directory: a server that is killed leaves its files in /dev/shm.
        "dynamic_shared_memory_type=mmap".to_owned(),
        "synchronous_commit=off".to_owned(),
    ] {
        command.args(["-c", &value]);
    }
    let mut process = Process::start("PostgreSQL", command, &own.join("log"), &dir.guard)?
        .ended_by(rustix::process::Signal::INT);
    process.until(START, |process| {
        process
            .log()
            .contains("ready to accept connections")
            .then_some(())
    })?;
    fill(&path, &own)?;
    Ok(Database {
        kind: Kind::PostgreSql,
        process: Some(process),
        dsn: format!("pgsql:host={};dbname=bench", own.display()),
        go_dsn: None,
        settings: vec![
            setting("max_connections", CONNECTIONS),
            setting("fsync", "off"),
            setting("database connected by", "Unix socket"),
        ],
        counter: None,
        memory: None,
    })
}

fn fill(server: &Path, socket: &Path) -> Result<()> {
    let psql = |database: &str, sql: &str| {
        let mut command = Command::new(server.with_file_name("psql"));
        command
            .args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
            .arg(format!("--host={}", socket.display()))
            .args([
                format!("--username={USER}"),
                format!("--dbname={database}"),
                format!("--command={sql}"),
            ]);
        complete("psql", &mut command)
    };
    psql("postgres", "CREATE DATABASE bench")?;
    psql("bench", ITEMS)
}

/// SQL for 100,000 rows in the columns that HttpArena prescribes; without an index on the price, so that a range of it is
/// a scan.
const ITEMS: &str = "\
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price INTEGER NOT NULL, quantity INTEGER NOT NULL, \
active BOOLEAN NOT NULL, tags JSONB NOT NULL, rating_score INTEGER NOT NULL, rating_count INTEGER NOT NULL);
INSERT INTO items SELECT i, 'Item number ' || i, (ARRAY['electronics', 'office', 'garden', 'sports', 'books', 'toys', 'kitchen', 'music'])[i % 8 + 1], \
i * 7919 % 500 + 1, i * 31 % 1000 + 1, i % 3 <> 0, jsonb_build_array('tag-' || i % 7, 'tag-' || i % 11), i % 50 + 1, i * 53 % 500 + 1 \
FROM generate_series(1, 100000) AS i;
ANALYZE items;";
