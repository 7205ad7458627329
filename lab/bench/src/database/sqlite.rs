//! SQLite, for scenarios with plain queries on a machine without MariaDB: a file that each process of the app reads
//! itself.

use super::{Database, Kind, tables};
use crate::problem::{Problem, Result};
use crate::process::complete;
use crate::run_dir::RunDir;
use crate::runtimes::{Found, Tools, setting};
use std::process::Command;

/// Looks for PHP with pdo_sqlite: SQLite is a part of PHP.
pub(super) fn find(tools: &Tools) -> Found {
    let missing = |why: &str| Found::missing(why, "apt install php-cli php-sqlite3");
    let Some(path) = tools.program("php", &["php"]) else {
        return missing("no php");
    };
    let output = Command::new(&path)
        .args([
            "-r",
            "echo (new PDO('sqlite::memory:'))->query('SELECT sqlite_version()')->fetchColumn();",
        ])
        .output();
    match output {
        Ok(output) if output.status.success() => Found::Here {
            version: format!("SQLite {}", String::from_utf8_lossy(&output.stdout).trim()),
            path,
        },
        _ => missing("no pdo_sqlite in php"),
    }
}

/// Creates the file, in WAL mode: readers do not wait for a writer, as in a database server.
pub(super) fn start(tools: &Tools, dir: &RunDir) -> Result<Database> {
    let php = match find(tools) {
        Found::Here { path, .. } => path,
        Found::Missing { why, how } => return Err(Problem::Failed(format!("{why} ({how})"))),
    };
    let sql = dir.fresh("sqlite")?.join("tables.sql");
    let tables = tables::sql("\r\n");
    dir.write(&sql, &format!("PRAGMA journal_mode = WAL;\n{tables}"))?;
    let memory = in_memory(dir);
    let own = memory.as_ref().map_or(dir.path(), tempfile::TempDir::path);
    let dsn = format!("sqlite:{}/bench.db", own.display());
    let mut fill = dir.command_of(&php);
    let code = "(new PDO($argv[1], options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]))->exec(file_get_contents($argv[2]));";
    fill.args(["-r", code, "--", &dsn]).arg(&sql);
    complete("php", &mut fill)?;
    Ok(Database {
        kind: Kind::Sqlite,
        process: None,
        dsn,
        go_dsn: None,
        settings: vec![
            setting("database", "SQLite, journal_mode = WAL"),
            setting(
                "database file",
                if memory.is_some() {
                    "in memory"
                } else {
                    "on disk"
                },
            ),
        ],
        counter: None,
        memory,
    })
}

/// Creates a folder in memory, if possible: the speed of the disk at fsync is not measured.
fn in_memory(dir: &RunDir) -> Option<tempfile::TempDir> {
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("hearth-bench-").tempdir_in("/dev/shm").ok()?;
    dir.guard.directory(folder.path());
    dir.give(folder.path()).ok()?;
    Some(folder)
}
