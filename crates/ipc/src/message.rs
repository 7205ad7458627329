//! The messages between Hearth's processes.

use std::path::PathBuf;

use config::Settings;
use serde::{Deserialize, Serialize};

/// Requests in flight per worker for a handler that serves several at once, unless configured otherwise.
pub const CONCURRENT: u32 = config::CONCURRENT;

/// Everything a zygote needs to boot the app: the first message that it receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boot {
    /// The build id of the sender; equal on both sides unless two installations were mixed.
    pub build: String,
    /// The kind of the app's handler, see [`Booted::handler`]; empty before it is known.
    pub handler: String,
    /// The settings. The zygote replaces the values that it finds out: `app` and `site.root` without symbolic links,
    /// `concurrency` as fits the handler.
    pub settings: Settings,
}

/// Supervisor → zygote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToZygote {
    /// Boot the engine and the app. Sent once, as the first message.
    Boot(Box<Boot>),
    /// Fork one worker. Descriptors: its control channel, its scoreboard, the quarantine, then the listening sockets, or, if
    /// `has_front`, its end of the front channel; then `balancing` descriptors: the table of connection counts, its inbox,
    /// and the inboxes of the slots behind it ([`HandOff`]).
    Fork {
        slot: u32,
        generation: u32,
        has_front: bool,
        balancing: u32,
    },
}

/// Why an app did not boot. Each text is for the user: what failed, file and line, what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum BootFailure {
    /// The two programs were built from different sources.
    #[error("{0}")]
    OtherBuild(String),
    /// The script ended without a handler; it may belong to a classic site.
    #[error("{0}")]
    NoHandler(String),
    /// A setting, the engine or the app failed.
    #[error("{0}")]
    Failed(String),
}

/// Zygote → supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromZygote {
    /// The app has booted, in a zygote of this build.
    Booted { build: String, app: Booted },
    /// The app has not booted.
    BootFailed(BootFailure),
    /// A worker was forked; it sends [`FromWorker::Ready`] itself when it accepts. Descriptor: its pidfd, opened before the
    /// zygote could reap the worker, so that it refers to this process even if the pid is reused by the time it is read;
    /// none where the system has no pidfds.
    Forked { slot: u32, pid: u32 },
    /// A worker could not be forked.
    ForkFailed { slot: u32, message: String },
    /// A worker has exited; `status` is that of `waitpid`.
    Exited { pid: u32, status: i32 },
}

/// An app that has booted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booted {
    /// The version of PHP, such as `8.2.36`.
    pub php: String,
    /// Why each worker has to boot the app again instead of sharing it; `None` if it does not.
    pub cold: Option<String>,
    /// Requests in flight per worker, as configured or as fits the handler.
    pub concurrency: u32,
    /// The kind of the app: `callable`, `psr-15`, `symfony`, `laravel`, `slim`, `frankenphp`; empty for a classic site.
    pub handler: String,
    /// `post_max_size` in bytes, if larger bodies are refused; 0 is no limit.
    pub post_limit: u64,
    /// Whether PHP checks if scripts have changed: a classic site with `opcache.validate_timestamps`.
    pub revalidates: bool,
    /// The app's path without symbolic links: this generation serves it even if the links change.
    pub app: PathBuf,
    /// The path of the public folder, for a resident app that has one.
    pub root: Option<PathBuf>,
}

impl Booted {
    /// Returns a description of the app's handler for people; `None` for a classic site.
    pub fn described(&self) -> Option<&'static str> {
        Some(match self.handler.as_str() {
            "callable" => "a handler written for Hearth",
            "psr-15" => "a PSR-15 request handler",
            "symfony" => "a Symfony kernel",
            "laravel" => "a Laravel application",
            "slim" => "a Slim application",
            "frankenphp" => "a worker script with a loop on frankenphp_handle_request()",
            _ => return None,
        })
    }
}

/// How a worker is to drain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drain {
    /// Whether the worker still serves requests on idle connections (with `Connection: close`) before it closes them: a
    /// reload. Otherwise it closes idle connections at once: a stop.
    pub linger: bool,
    /// Seconds until the requests that still run are given up.
    pub deadline: f64,
}

/// Supervisor → worker. EOF means that the supervisor has exited: drain and exit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum ToWorker {
    Drain(Drain),
    /// Report the state of the pools: [`FromWorker::Pools`].
    Pools,
    /// Reopen the log files, because they may have been replaced.
    ReopenLogs,
}

/// Worker → supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker accepts connections.
    Ready,
    /// The worker has stopped accepting and finishes its requests, for this reason: start another one in its slot now.
    Draining { reason: String },
    /// The worker is to be replaced, for this reason: start another one in its slot, and tell this one to drain when that is
    /// ready. It serves until then. `broken`: because of a fatal error in PHP; otherwise it has reached a limit
    /// (`workers.max_requests`, `workers.max_memory`).
    WantsRecycle { reason: String, broken: bool },
    /// The state of the pools, from `Hearth\Internal\PoolReports::reportPools()`; empty if that is not available.
    Pools { report: String },
    /// The worker could not start: the app boots in each worker, and failed here.
    Failed { message: String },
}

/// Worker → the worker of another slot, through the inbox of that slot. Descriptor: a client's connection of which nothing
/// has been read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HandOff {
    /// The process for which the connection was counted.
    pub pid: u32,
}

/// The settings that may change while the front runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontSettings {
    /// The settings, with `app` and `site.root` without symbolic links, as in the generation that serves.
    pub settings: Settings,
    /// Bytes of a body that the app accepts (`post_max_size` of a resident app); 0 is no limit.
    pub post_limit: u64,
}

/// Everything a front needs: the first message that it receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontStart {
    /// The build id of the sender.
    pub build: String,
    pub settings: FrontSettings,
}

/// Supervisor → front. EOF means that the supervisor has exited: drain and exit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToFront {
    /// Start. Sent once, as the first message. Descriptors: a scoreboard for each thread of the front.
    Start(Box<FrontStart>),
    /// Accept connections. Descriptors: listening sockets, as many as fit; the others come in further messages.
    Listen,
    /// Use these settings from now on. Sent with every generation, so that the site is examined again.
    Settings(Box<FrontSettings>),
    /// A worker is ready. Descriptor: its front channel.
    Worker { worker: u64 },
    /// Send no more requests to this worker, and close its front channel; it answers its requests through the relay.
    Retire { worker: u64 },
    /// Reopen the log files, because they may have been replaced.
    ReopenLogs,
    /// Stop accepting, finish the requests of clients, and exit.
    Drain { deadline: f64 },
}

/// Front → supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromFront {
    /// The front runs.
    Ready,
    /// The front cannot start.
    Failed { message: String },
    /// No worker can take a request, and processors are idle. With `workers` workers, requests would wait less. Without
    /// `waiting`, no request waits yet, and the next one would not have to.
    Short { workers: u32, waiting: bool },
}

/// Front → worker, through the worker's front channel. EOF means that no more requests come: finish and exit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum FrontToWorker {
    /// Claim requests as this consumer too; each thread of the front has one for each worker. Descriptors: the thread's
    /// memory; a stream socket, for data that does not fit there and for the EOF when the other side exits; the descriptor
    /// that wakes the worker; the descriptor that wakes the front.
    Attach { consumer: u16 },
}
