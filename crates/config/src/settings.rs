//! What holds, once everything that was said has been weighed.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A place to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(address) => write!(f, "{address}"),
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How many workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    Auto,
    Count(u32),
}

impl Workers {
    /// The number: `auto` is one per CPU that this process may use.
    pub fn number(self) -> u32 {
        match self {
            Workers::Count(n) => n,
            Workers::Auto => std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        }
    }
}

/// The least important log lines that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// Everything the server needs to know. Times of zero mean what [`crate::OPTIONS`] says for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Absolute.
    pub app: PathBuf,
    /// The file that was read, if any.
    pub config_file: Option<PathBuf>,
    pub listen: Vec<Listen>,
    pub workers: Workers,
    pub concurrency: u32,
    /// `8.4`; `None`: the highest found.
    pub php: Option<String>,
    pub ini: Vec<(String, String)>,
    pub display_errors: bool,
    pub request_timeout: Duration,
    pub request_grace: Duration,
    pub header_timeout: Duration,
    pub keepalive_timeout: Duration,
    pub boot_timeout: Duration,
    pub stop_timeout: Duration,
    pub reload_timeout: Duration,
    pub watch: bool,
    pub admin: Option<SocketAddr>,
    /// `None`: the first of [`crate::control_candidates`] that can be made.
    pub control: Option<PathBuf>,
    pub log_level: Level,
}
