//! A private Redis or Valkey that writes nothing to disk.

use super::{Counter, Database, Kind};
use crate::problem::{Problem, Result};
use crate::process::{Process, complete};
use crate::run_dir::RunDir;
use crate::runtimes::{Found, Tools, setting, version_of};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const START: Duration = Duration::from_secs(20);

/// Looks for the server and for the PHP extension that apps need.
pub(super) fn find(tools: &Tools) -> Found {
    let missing = |why: &str| {
        Found::missing(
            why,
            "apt install redis-server php-redis (the service need not run)",
        )
    };
    let Some(path) = tools.program("redis", &["redis-server", "valkey-server"]) else {
        return missing("no redis-server or valkey-server");
    };
    let code = "exit(extension_loaded('redis') ? 0 : 1);";
    let has_extension = tools
        .program("php", &["php"])
        .is_some_and(|php| complete("php", Command::new(php).args(["-r", code])).is_ok());
    if !has_extension {
        return missing("no extension redis in php");
    }
    Found::Here {
        version: version_of(&path, &["--version"]).unwrap_or_default(),
        path,
    }
}

/// Starts a server that listens on a Unix socket only.
pub(super) fn start(tools: &Tools, dir: &RunDir) -> Result<Database> {
    let path = match find(tools) {
        Found::Here { path, .. } => path,
        Found::Missing { why, how } => return Err(Problem::Failed(format!("{why} ({how})"))),
    };
    let own = dir.fresh("redis")?;
    let socket = own.join("socket");
    let mut command = dir.command(&path);
    command
        .args(["--port", "0", "--save", "", "--appendonly", "no"])
        .args(["--maxclients", "4000", "--tcp-backlog", "4096"])
        .arg("--unixsocket")
        .arg(&socket)
        .arg("--dir")
        .arg(&own);
    let mut process = Process::start("Redis", command, &own.join("log"), &dir.guard)?;
    process.until(START, |_| commands(&socket).map(|_| ()))?;
    Ok(Database {
        kind: Kind::Redis,
        process: Some(process),
        dsn: socket.display().to_string(),
        go_dsn: None,
        settings: vec![
            setting("save", "off"),
            setting("database connected by", "Unix socket"),
        ],
        counter: Some(Counter::Redis(socket)),
        memory: None,
    })
}

/// Returns the number of commands that clients have sent so far, without this query itself.
pub(super) fn commands(socket: &Path) -> Option<u64> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    stream.write_all(b"INFO stats\r\n").ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    reader.read_line(&mut head).ok()?;
    let length: usize = head.trim().strip_prefix('$')?.parse().ok()?;
    let mut text = vec![0; length];
    reader.read_exact(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = |line: &str| line.strip_prefix("total_commands_processed:")?.parse().ok();
    text.lines().find_map(line)
}
