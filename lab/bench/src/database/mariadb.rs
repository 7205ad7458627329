//! A private MariaDB with the tables of all scenarios.

use super::{Counter, Database, Kind, PASSWORD, USER, tables};
use crate::problem::{Problem, Result};
use crate::process::{Process, complete};
use crate::run_dir::RunDir;
use crate::runtimes::{Found, Tools, setting, version_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const START: Duration = Duration::from_secs(60);
/// The most connections that the scenarios of one block may open.
pub(super) const CONNECTIONS: u32 = 4000;

/// Looks for MariaDB.
pub(super) fn find(tools: &Tools) -> Found {
    let how = "apt install mariadb-server-core mariadb-client-core (the service need not run)";
    let missing = |what: &str| Found::missing(format!("no {what}"), how);
    let Some(path) = tools.program("mariadb", &["mariadbd", "mysqld"]) else {
        return missing("mariadbd");
    };
    for needed in ["mariadb-install-db", "mariadb"] {
        if tools.program(needed, &[needed]).is_none() {
            return missing(needed);
        }
    }
    Found::Here {
        version: version_of(&path, &["--version"]).unwrap_or_default(),
        path,
    }
}

/// A client that asks the server how many statements clients have sent.
#[derive(Debug)]
pub(super) struct Client {
    socket: PathBuf,
    client: PathBuf,
}

/// Returns the arguments of the server's command line.
fn words(directories: &[String], socket: &Path, tables: &Path) -> Vec<String> {
    let mut words = vec!["--no-defaults".to_owned()];
    words.extend_from_slice(directories);
    words.extend([
        "--skip-networking".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
        format!("--max-connections={CONNECTIONS}"),
        "--thread-cache-size=512".to_owned(),
        "--back-log=4096".to_owned(),
        format!("--socket={}", socket.display()),
        format!("--init-file={}", tables.display()),
    ]);
    words
}

/// Creates a data directory and starts a server on it that listens on a Unix socket only.
pub(super) fn start(tools: &Tools, dir: &RunDir) -> Result<Database> {
    let Found::Here { path, .. } = find(tools) else {
        return Err(Problem::failed(
            "MariaDB is not installed (hearth bench doctor)",
        ));
    };
    let own = dir.fresh("mariadb")?;
    let directories = [
        format!("--datadir={}/data", own.display()),
        format!("--tmpdir={}", own.display()),
    ];
    install(tools, dir, &directories)?;
    let (socket, sql) = (own.join("socket"), own.join("init.sql"));
    dir.write(&sql, &sql_of_tables())?;
    let mut command = dir.command(&path);
    command.args(words(&directories, &socket, &sql));
    let mut process = Process::start("MariaDB", command, &own.join("log"), &dir.guard)?;
    process.until(START, |process| {
        process
            .log()
            .contains("ready for connections")
            .then_some(())
    })?;
    let path = socket.display();
    Ok(Database {
        kind: Kind::MariaDb,
        process: Some(process),
        dsn: format!("mysql:unix_socket={path};dbname=bench;charset=utf8mb4"),
        go_dsn: Some(format!("{USER}:{PASSWORD}@unix({path})/bench")),
        settings: vec![
            setting("max_connections", CONNECTIONS),
            setting("innodb_flush_log_at_trx_commit", 0),
            setting("database connected by", "Unix socket"),
        ],
        counter: Some(Counter::MariaDb(Client {
            client: tool(tools, "mariadb")?,
            socket,
        })),
        memory: None,
    })
}

fn tool(tools: &Tools, name: &str) -> Result<PathBuf> {
    tools
        .program(name, &[name])
        .ok_or_else(|| Problem::failed(format!("no {name}")))
}

fn install(tools: &Tools, dir: &RunDir, directories: &[String]) -> Result<()> {
    let mut install = dir.command(&tool(tools, "mariadb-install-db")?);
    install
        .args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ])
        .args(directories);
    complete("mariadb-install-db", &mut install)
}

impl Client {
    /// Sets how many connections the server admits from now on.
    pub(super) fn admit(&self, connections: u32) -> Result<()> {
        let mut set = self.command(&format!("SET GLOBAL max_connections = {connections}"));
        complete("mariadb", &mut set)
    }

    fn command(&self, sql: &str) -> Command {
        let mut client = Command::new(&self.client);
        client.args([
            "--no-defaults",
            "--user=root",
            "--batch",
            "--skip-column-names",
        ]);
        client
            .arg(format!("--socket={}", self.socket.display()))
            .args(["--execute", sql]);
        client
    }

    pub(super) fn read(&self) -> Option<u64> {
        let output = self
            .command("SHOW GLOBAL STATUS LIKE 'Com_select'; SHOW GLOBAL STATUS LIKE 'Com_update'")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        Some(numbers.sum())
    }
}

/// Returns the SQL that creates the database, its user and its tables.
fn sql_of_tables() -> String {
    let users = ["'%'", "localhost"].map(|host| {
        format!(
            "CREATE USER {USER}@{host} IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON bench.* TO {USER}@{host};\n"
        )
    });
    format!(
        "CREATE DATABASE bench CHARACTER SET utf8mb4;\n{}USE bench;\nSET SESSION max_recursive_iterations = 200000;\n{}",
        users.concat(),
        tables::sql(r"\r\n")
    )
}
