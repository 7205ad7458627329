//! The settings that take effect, made from all sources.

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

/// The access to the Unix sockets of [`Settings::listen`]. Names are not resolved yet; `None` is the system's default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketAccess {
    pub mode: u32,
    pub owner: Option<String>,
    pub group: Option<String>,
}

/// The mode in which PHP runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The app stays in memory between requests.
    Resident,
    /// Nothing survives a request.
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

/// The number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workers {
    Auto,
    Count(u32),
    /// As many as needed. `most` is `None` if memory is the limit.
    Between {
        least: u32,
        most: Option<u32>,
    },
}

/// The most workers of a server.
pub const MOST_WORKERS: u32 = 1024;

/// Requests that a worker has in flight when the app is a handler written for Hearth.
pub const CONCURRENT: u32 = 256;

/// Workers per CPU with `auto`, if each serves one request at a time: one waits for its database while others compute.
const PER_CPU: u32 = 4;

/// CPUs that this process may use.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

impl Workers {
    /// The number at the start. `auto` is one per CPU that this process may use, four if a worker serves one request at a
    /// time.
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
    /// The folder of a resident app's files, if it has one. Absolute.
    pub root: Option<PathBuf>,
    /// Directories to which symbolic links may lead out of the document root. Absolute.
    pub follow: Vec<PathBuf>,
    /// Locations that are answered 403.
    pub deny: Vec<String>,
    /// Rewrite rules of a classic site: a location, and the words of its rule.
    pub rewrite: Vec<(String, String)>,
    /// The file that answers paths without a file.
    pub fallback: Option<String>,
    /// Paths that the fallback does not answer.
    pub dynamic: Vec<String>,
    /// Patterns of files, and their `Cache-Control`; the last that fits holds.
    pub cache_control: Vec<(String, String)>,
    /// Whether a compressed file beside a file is sent in its place.
    pub precompressed: bool,
    /// Folders of which PHP may have files sent, each with the path by which PHP names it. Absolute.
    pub sendfile: Vec<(String, PathBuf)>,
}

/// The target of a log.
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

/// The format of an access log line.
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
    /// Bytes of the cache; 0 is none.
    pub size: u64,
    /// Bytes that a worker may use for decoded values of the cache.
    pub copies: u64,
    /// The second tier, which several machines share.
    pub redis: Option<RedisSettings>,
}

/// The settings of a Redis. Processes that run PHP do not get them: the URL may contain a password.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RedisSettings {
    pub url: String,
    /// The prefix of all keys.
    pub prefix: String,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// All settings, as they are sent to each process. The table of options documents the meaning of 0.
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
    /// `None` if it depends on the handler that the app returns.
    pub concurrency: Option<u32>,
    /// `None` if it depends on the workers ([`Settings::dispatch`]).
    pub dispatch: Option<Dispatch>,
    /// Threads of the front when dispatch is balanced.
    pub front_threads: u32,
    /// Requests that may wait for a worker when dispatch is balanced.
    pub queue: u32,
    /// How long a request may wait for a worker.
    pub queue_timeout: Duration,
    /// How long a worker above the least number is idle before it leaves.
    pub idle_timeout: Duration,
    /// Requests after which a worker is replaced; 0 is never.
    pub max_requests: u32,
    /// Bytes of private memory above which a worker is replaced; 0 is never.
    pub max_memory: u64,
    pub cache: CacheSettings,
    /// The PHP version, such as `8.4`; `None` is the highest found.
    pub php: Option<String>,
    pub ini: Vec<(String, String)>,
    /// Variables that PHP's environment has in addition to that of `hearth`.
    pub env: Vec<(String, String)>,
    /// The script that opcache preloads when PHP starts. Absolute.
    pub preload: Option<PathBuf>,
    /// Whether PHP may run as root.
    pub allow_root: bool,
    pub display_errors: bool,
    pub request_timeout: Duration,
    pub request_grace: Duration,
    /// Patterns of paths whose requests stay in the queue after their client has left, whatever their method.
    pub ignore_client_abort: Vec<String>,
    /// Limits and timeouts for clients.
    pub http: http1::Settings,
    /// Proxies whose fields about their clients are trusted.
    pub trusted_proxies: http1::TrustedProxies,
    pub boot_timeout: Duration,
    /// A path that each worker must answer with a status from 200 to 399 before it gets requests.
    pub probe: Option<String>,
    pub stop_timeout: Duration,
    pub reload_timeout: Duration,
    pub watch: bool,
    pub admin: Option<SocketAddr>,
    /// Patterns of paths whose times are counted separately.
    pub metrics_routes: Vec<String>,
    /// `None` is the first of [`crate::control_candidates`] that can be created.
    pub control: Option<PathBuf>,
    pub log_level: Level,
    /// `None` if requests are not logged.
    pub access_log: Option<LogTarget>,
    pub access_format: AccessFormat,
    /// How long a request runs before its stack is logged; zero is never.
    pub slow_after: Duration,
    /// The file of the slow log; `None` is the log.
    pub slow_file: Option<PathBuf>,
}

impl Settings {
    /// Whether the number of workers follows the load.
    pub fn is_elastic(&self) -> bool {
        matches!(self.workers, Workers::Between { .. })
    }

    /// How requests get to workers that each have up to `concurrency` of them. By default direct dispatch if a single worker
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
