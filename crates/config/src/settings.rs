//! What holds, once everything that was said has been weighed.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A place to listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Display for Listen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(address) => write!(f, "{address}"),
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Which users may connect to the Unix sockets of [`Settings::listen`]. Names are not looked up yet; `None`: as the system makes a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketAccess {
    pub mode: u32,
    pub owner: Option<String>,
    pub group: Option<String>,
}

/// What survives a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The app.
    Resident,
    /// Nothing.
    Classic,
}

/// How a request gets to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dispatch {
    /// Each worker accepts connections.
    Direct,
    /// The front accepts connections, and idle workers take their requests.
    Balanced,
}

impl Display for Dispatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Dispatch::Direct => "direct",
            Dispatch::Balanced => "balanced",
        })
    }
}

/// How many workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workers {
    Auto,
    Count(u32),
    /// As many as are needed. `most` is `None` where memory is the limit.
    Between {
        least: u32,
        most: Option<u32>,
    },
}

/// The most workers that there can be.
pub const MOST_WORKERS: u32 = 1024;

/// Requests that a worker has in flight when the app is a handler written for Hearth.
pub const CONCURRENT: u32 = 256;

/// With `auto`, workers that serve one request at a time: one waits for its database while others compute.
const PER_CPU: u32 = 4;

/// CPUs that this process may use.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

impl Workers {
    /// The number at the start: `auto` is one per CPU that this process may use, several where a worker serves one request
    /// at a time.
    pub fn number(self, concurrency: u32) -> u32 {
        match self {
            Workers::Count(n) | Workers::Between { least: n, .. } => n,
            Workers::Auto if concurrency == 1 => cpus() * PER_CPU,
            Workers::Auto => cpus(),
        }
    }
}

/// The least important log lines that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The files that are sent without PHP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteSettings {
    /// Those of a resident app, if it has any. Absolute.
    pub root: Option<PathBuf>,
    /// Where symbolic links may lead out of the document root. Absolute.
    pub follow: Vec<PathBuf>,
    /// Paths that are never answered with.
    pub deny: Vec<String>,
    /// What paths of a classic site are looked up as: a location, and the words of its rule.
    pub rewrite: Vec<(String, String)>,
    /// The file that answers in place of what is not there.
    pub fallback: Option<String>,
    /// Paths that it does not answer.
    pub dynamic: Vec<String>,
    /// Patterns of files, and their `Cache-Control`; the last that fits holds.
    pub cache_control: Vec<(String, String)>,
    /// What lies compressed beside a file is sent instead.
    pub precompressed: bool,
    /// Folders of which PHP may have files sent, and the paths that it calls them by. Absolute.
    pub sendfile: Vec<(String, PathBuf)>,
}

/// Where the lines of a log go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogTarget {
    Stderr,
    /// The Unix socket of the system's log.
    Syslog(PathBuf),
    File(PathBuf),
}

impl Display for LogTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            LogTarget::Stderr => f.write_str("stderr"),
            LogTarget::Syslog(path) => write!(f, "syslog:{}", path.display()),
            LogTarget::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What a line of the access log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessFormat {
    /// NCSA's: client, time, request, status, bytes.
    Common,
    /// With the fields Referer and User-Agent.
    Combined,
    Json,
}

/// The cache that all workers share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheSettings {
    /// Bytes; 0 is none.
    pub size: u64,
    /// Bytes of a worker for values of it that are decoded.
    pub copies: u64,
    /// What several machines share as its second tier.
    pub redis: Option<RedisSettings>,
}

/// A Redis. Processes that run PHP are not told of it: a password may be in the URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RedisSettings {
    pub url: String,
    /// Before each of the keys.
    pub prefix: String,
    /// How long it may take to answer.
    pub timeout: Duration,
}

/// Everything the server needs to know, as it is sent to each of its processes. What 0 means says the table of options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Absolute. In classic mode the document root, or the front controller in it.
    pub app: PathBuf,
    pub mode: Mode,
    /// The file that was read, if any.
    pub config_file: Option<PathBuf>,
    pub listen: Vec<Listen>,
    pub socket: SocketAccess,
    pub site: SiteSettings,
    pub workers: Workers,
    /// `None`: as fits the handler that the app returns.
    pub concurrency: Option<u32>,
    /// `None`: see [`Settings::dispatch`].
    pub dispatch: Option<Dispatch>,
    /// Threads of the front when dispatch is balanced.
    pub front_threads: u32,
    /// Requests that may wait for a worker when dispatch is balanced.
    pub queue: u32,
    /// How long one may wait.
    pub queue_timeout: Duration,
    /// How long a worker above the least number has nothing to do before it leaves.
    pub idle_timeout: Duration,
    /// Requests after which a worker is replaced; 0 is never.
    pub max_requests: u32,
    /// Bytes of its own memory above which a worker is replaced; 0 is never.
    pub max_memory: u64,
    pub cache: CacheSettings,
    /// `8.4`; `None`: the highest found.
    pub php: Option<String>,
    pub ini: Vec<(String, String)>,
    /// What PHP's environment has beside our own.
    pub env: Vec<(String, String)>,
    /// What opcache loads when PHP starts. Absolute.
    pub preload: Option<PathBuf>,
    /// PHP may run as root.
    pub allow_root: bool,
    pub display_errors: bool,
    pub request_timeout: Duration,
    pub request_grace: Duration,
    /// Patterns of paths whose requests do not leave the queue with their client, whatever their method.
    pub ignore_client_abort: Vec<String>,
    /// What clients may do and how long they may take.
    pub http: http1::Settings,
    /// Whose word on its clients counts.
    pub trusted_proxies: http1::TrustedProxies,
    pub boot_timeout: Duration,
    /// A path that each worker must answer well before it gets requests.
    pub probe: Option<String>,
    pub stop_timeout: Duration,
    pub reload_timeout: Duration,
    pub watch: bool,
    pub admin: Option<SocketAddr>,
    /// Patterns of paths whose times are counted by themselves.
    pub metrics_routes: Vec<String>,
    /// `None`: the first of [`crate::control_candidates`] that can be made.
    pub control: Option<PathBuf>,
    pub log_level: Level,
    /// `None`: requests are not logged.
    pub access_log: Option<LogTarget>,
    pub access_format: AccessFormat,
    /// How long a request runs before the log says where it is; zero: never.
    pub slow_after: Duration,
    /// Where it says so; `None`: in the log.
    pub slow_file: Option<PathBuf>,
}

impl Settings {
    /// The number of workers follows the load.
    pub fn is_elastic(&self) -> bool {
        matches!(self.workers, Workers::Between { .. })
    }

    /// How requests get to workers that each have up to `concurrency` of them. By default direct where a single worker
    /// serves many at a time: there is no other worker that could take a request.
    pub fn dispatch(&self, concurrency: u32) -> Dispatch {
        let is_alone = self.workers.number(concurrency) == 1 && !self.is_elastic();
        self.dispatch.unwrap_or(if concurrency > 1 && is_alone {
            Dispatch::Direct
        } else {
            Dispatch::Balanced
        })
    }
}
