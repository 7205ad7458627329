//! A private MariaDB with the tables of all scenarios.

use super::{Database, PASSWORD, USER};
use crate::place::Place;
use crate::problem::{Problem, Result};
use crate::process::{Process, complete};
use crate::runtimes::{Found, Tools, setting, version_of};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const START: Duration = Duration::from_secs(60);
/// What one block of scenarios may open at most.
const CONNECTIONS: u32 = 4000;

/// Found or not.
pub(super) fn find(tools: &Tools) -> Found {
    let how =
        "apt install mariadb-server-core mariadb-client-core (the service need not run)".to_owned();
    let missing = |what: &str| Found::Missing {
        why: format!("no {what}"),
        how: how.clone(),
    };
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

/// Asks the server what clients have sent.
#[derive(Debug)]
pub(super) struct Counter {
    socket: PathBuf,
    client: PathBuf,
}

/// Makes a data directory and starts a server on it that listens on a Unix socket only.
pub(super) fn start(tools: &Tools, place: &Place) -> Result<Database> {
    let Found::Here { path, .. } = find(tools) else {
        return Err(Problem::failed(
            "MariaDB is not installed (hearth bench doctor)",
        ));
    };
    let own = place.fresh("mariadb")?;
    let directories = [
        format!("--datadir={}/data", own.display()),
        format!("--tmpdir={}", own.display()),
    ];
    install(tools, place, &directories)?;
    let (socket, sql) = (own.join("socket"), own.join("init.sql"));
    place.write(&sql, &tables())?;
    let mut command = place.command(&path);
    command.arg("--no-defaults").args(&directories).args([
        "--skip-networking",
        "--skip-name-resolve",
        "--innodb-flush-log-at-trx-commit=0",
    ]);
    command.args([
        format!("--max-connections={CONNECTIONS}"),
        "--thread-cache-size=512".to_owned(),
        "--back-log=4096".to_owned(),
    ]);
    command.args([
        format!("--socket={}", socket.display()),
        format!("--init-file={}", sql.display()),
    ]);
    let mut process = Process::start("MariaDB", command, &own.join("log"), &place.guard)?;
    process.until(START, |process| {
        process
            .log()
            .contains("ready for connections")
            .then_some(())
    })?;
    let place = socket.display();
    Ok(Database {
        process,
        dsn: format!("mysql:unix_socket={place};dbname=bench;charset=utf8mb4"),
        go_dsn: Some(format!("{USER}:{PASSWORD}@unix({place})/bench")),
        settings: vec![
            setting("max_connections", CONNECTIONS),
            setting("innodb_flush_log_at_trx_commit", 0),
            setting("database connected by", "Unix socket"),
        ],
        counter: Some(Counter {
            client: tool(tools, "mariadb")?,
            socket,
        }),
    })
}

fn tool(tools: &Tools, name: &str) -> Result<PathBuf> {
    tools
        .program(name, &[name])
        .ok_or_else(|| Problem::failed(format!("no {name}")))
}

fn install(tools: &Tools, place: &Place, directories: &[String]) -> Result<()> {
    let mut install = place.command(&tool(tools, "mariadb-install-db")?);
    install
        .args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ])
        .args(directories);
    complete("mariadb-install-db", &mut install)
}

impl Counter {
    pub(super) fn read(&self) -> Option<u64> {
        let output = Command::new(&self.client)
            .args([
                "--no-defaults",
                "--user=root",
                "--batch",
                "--skip-column-names",
            ])
            .arg(format!("--socket={}", self.socket.display()))
            .args([
                "--execute",
                "SHOW GLOBAL STATUS LIKE 'Com_select'; SHOW GLOBAL STATUS LIKE 'Com_update'",
            ])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        Some(numbers.sum())
    }
}

/// The two rows that the write-up prints, 792 bytes by `print_r`; 100,000 numbered rows; twelve fortunes.
fn tables() -> String {
    let text = |seed: u64| -> String {
        let mut state = seed;
        let mut line = || -> String {
            (0..20)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    char::from(b'A' + u8::try_from((state >> 33) % 26).unwrap_or(0))
                })
                .collect()
        };
        (0..10).map(|_| line()).collect::<Vec<_>>().join("\\r\\n")
    };
    format!(
        "CREATE DATABASE bench CHARACTER SET utf8mb4;\nCREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';\nCREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL ON bench.* TO {USER}@'%';\nGRANT ALL ON bench.* TO {USER}@localhost;\n\
         CREATE TABLE bench.test1 (test1_id INT UNSIGNED NOT NULL PRIMARY KEY, test1_timestamp INT UNSIGNED NOT NULL, test1_data VARCHAR(2000) NOT NULL, test1_some_fk INT UNSIGNED NOT NULL);\n\
         INSERT INTO bench.test1 VALUES (1, 1572448636, '{}', 33), (2, 1572448639, '{}', 35);\n\
         CREATE TABLE bench.world (id INT NOT NULL PRIMARY KEY, randomNumber INT NOT NULL);\nSET SESSION max_recursive_iterations = 200000;\n\
         INSERT INTO bench.world WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i, (i * 7919) % 10000 + 1 FROM n;\n\
         CREATE TABLE bench.fortune (id INT NOT NULL PRIMARY KEY, message VARCHAR(2048) NOT NULL);\n{}",
        text(1),
        text(2),
        FORTUNES
    )
}

/// The twelve messages of TechEmpower's test, which its rules prescribe.
const FORTUNES: &str = "INSERT INTO bench.fortune VALUES \
(1, 'fortune: No such file or directory'), (2, 'A computer scientist is someone who fixes things that aren''t broken.'), \
(3, 'After enough decimal places, nobody gives a damn.'), (4, 'A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1'), \
(5, 'A computer program does what you tell it to do, not what you want it to do.'), \
(6, 'Emacs is a nice operating system, but I prefer UNIX. — Tom Christaensen'), (7, 'Any program that runs right is obsolete.'), \
(8, 'A list is only as strong as its weakest link. — Donald Knuth'), (9, 'Feature: A bug with seniority.'), \
(10, 'Computers make very fast, very accurate mistakes.'), (11, '<script>alert(\"This should not be displayed in a browser alert box.\");</script>'), \
(12, 'フレームワークのベンチマーク');\n";
