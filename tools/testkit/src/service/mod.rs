//! Real services for tests: databases, web servers, a browser, and an HTTP peer with delayed responses.
//!
//! Databases start slowly, so each test process starts one of each, on first use (`shared()`).

mod apache;
mod browser;
mod certificate;
mod fpm;
mod mariadb;
mod nginx;
mod peer;
mod postgres;
mod redis;
mod reverse_proxy;
mod ssh;

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::chown;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::guard::Guard;
use crate::log::Log;

pub use apache::Apache;
pub use browser::{Browser, Element};
pub use fpm::Fpm;
pub use mariadb::MariaDb;
pub use nginx::Nginx;
pub use peer::Peer;
pub use postgres::Postgres;
pub use redis::Redis;
pub use reverse_proxy::{Front, ReverseProxy};
pub use ssh::Ssh;

const START: Duration = Duration::from_secs(60);
/// The user that Debian's web servers run as.
const WEB: Option<&str> = Some("www-data");

/// The process of a service, in a session and a directory of its own.
#[derive(Debug)]
struct Daemon {
    child: Child,
    log: Log,
    _guard: Guard,
}

impl Daemon {
    /// Starts the service and waits for the line of output that reports that it is ready.
    fn start(mut command: Command, directory: &Path, ready: &str) -> Self {
        let daemon = Self::spawn(&mut command, directory);
        let seen = daemon.log.wait(ready, START);
        assert!(
            seen.is_some(),
            "{command:?} never said {ready:?}:\n{}",
            daemon.log.text()
        );
        daemon
    }

    fn spawn(command: &mut Command, directory: &Path) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let guard = Guard::new(child.id(), directory);
        let log = Log::collect(child.stdout.take().expect("stdout is piped"));
        Self {
            child,
            log,
            _guard: guard,
        }
    }
}

impl Drop for Daemon {
    /// Prints the state of the service if the test fails, because the service may be the cause.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let state = match self.child.try_wait() {
                Ok(Some(status)) => format!("has ended: {status}"),
                _ => "runs".to_owned(),
            };
            let lines = self.log.lines();
            let last = &lines[lines.len().saturating_sub(20)..];
            eprintln!(
                "--- a service of the test {state}; its last lines\n{}\n---",
                last.join("\n")
            );
        }
    }
}

/// Returns the command of a service's program, in a session of its own, as `user` if this process is root (databases
/// refuse root). Standard error is joined to standard output.
fn program(path: impl AsRef<Path>, user: Option<&str>) -> Command {
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", r#"exec "$@" 2>&1"#, "sh"]);
    if let Some(user) = user.filter(|_| rustix::process::geteuid().is_root()) {
        command.args([
            "setpriv",
            "--reuid",
            user,
            "--regid",
            user,
            "--clear-groups",
        ]);
    }
    command.arg(path.as_ref());
    command
}

/// Creates a temporary directory that `user` owns, if this process is root.
fn directory(name: &str, user: Option<&str>) -> PathBuf {
    let prefix = format!("hearth-{name}-");
    let path = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir()
        .expect("a temporary directory")
        .keep();
    if let Some(user) = user.filter(|_| rustix::process::geteuid().is_root()) {
        let (uid, gid) = ids(user);
        chown(&path, Some(uid), Some(gid)).expect("root may give a directory away");
    }
    path
}

/// Returns the user and group ids from `/etc/passwd`.
fn ids(user: &str) -> (u32, u32) {
    let text = std::fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
    let line = text
        .lines()
        .find(|line| line.split(':').next() == Some(user));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("no user {user}"))
        .split(':')
        .collect();
    (
        words[2].parse().expect("a number"),
        words[3].parse().expect("a number"),
    )
}

/// Ports below the kernel's ephemeral range: none of them is assigned by chance to another socket between the choice and
/// the service's start.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Returns a port of 127.0.0.1 that no process listens on, and that no other test gets while this process runs.
fn free_port() -> u16 {
    /// The sockets that reserve the ports, and the number of ports tried so far.
    static RESERVED: Mutex<(Vec<UnixDatagram>, u32)> = Mutex::new((Vec::new(), 0));
    let (mine, tried) = &mut *RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let ports = u32::from(PORTS.end - PORTS.start);
    for _ in PORTS {
        // Each process starts the search at another port.
        let number = (std::process::id().wrapping_mul(97) + *tried) % ports;
        let port = PORTS.start + u16::try_from(number).expect("below the number of ports");
        *tried += 1;
        let Ok(reserved) = reserve(port) else {
            continue;
        };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            mine.push(reserved);
            return port;
        }
    }
    panic!("no free port in {PORTS:?}");
}

/// Binds an abstract socket name, which only one process of the machine can have until it ends.
fn reserve(port: u16) -> std::io::Result<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("hearth-it-port-{port}"))?;
    UnixDatagram::bind_addr(&name)
}

/// Runs a preparing command to its end.
fn run(command: &mut Command) {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
