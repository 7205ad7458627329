//! What our processes say to each other.

use std::path::PathBuf;

use config::Settings;
use serde::{Deserialize, Serialize};

/// Requests in flight per worker for a handler that was made for several at once, unless told otherwise.
pub const CONCURRENT: u32 = config::CONCURRENT;

/// Everything a zygote needs to boot the app: the first message it gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boot {
    /// Build id of the sender; equal on both sides unless two installations were mixed.
    pub build: String,
    /// What the app turned out to be, as [`Booted::handler`] says it; empty before that is known.
    pub handler: String,
    /// The zygote replaces what it finds out: `app` and `site.root` without symbolic links, `concurrency` as fits the handler.
    pub settings: Settings,
}

/// Supervisor → zygote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToZygote {
    /// Boot the engine and the app. Once, first.
    Boot(Box<Boot>),
    /// Fork one worker. Descriptors: its control channel, its scoreboard, the quarantine, then the listening sockets, or, if
    /// `has_front`, its end of the front channel; then `balancing` descriptors: the table of connections, its inbox, and the
    /// inboxes of the slots behind it ([`HandOff`]).
    Fork {
        slot: u32,
        generation: u32,
        has_front: bool,
        balancing: u32,
    },
}

/// Why an app is not up. Each text is for the user: what failed, file and line, what to do.
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
    /// The app is up, in a zygote of this build.
    Booted { build: String, app: Booted },
    /// The app is not up.
    BootFailed(BootFailure),
    /// A worker exists; it says [`FromWorker::Ready`] itself when it accepts. Descriptor: its pidfd, opened before the zygote could
    /// reap it, so it names this process even when the number is another's by the time it is read; none where the system has none.
    Forked { slot: u32, pid: u32 },
    /// A worker that was asked for does not exist: `fork` failed.
    ForkFailed { slot: u32, message: String },
    /// A worker ended: `status` as `waitpid` gives it.
    Exited { pid: u32, status: i32 },
}

/// An app that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booted {
    /// `8.2.36`.
    pub php: String,
    /// Why each worker has to boot it again instead of sharing it, if so.
    pub cold: Option<String>,
    /// Requests in flight per worker, as told or as fits the handler.
    pub concurrency: u32,
    /// What the app is: `callable`, `psr-15`, `symfony`, `laravel`, `slim`, `frankenphp`; empty for a classic site.
    pub handler: String,
    /// `post_max_size` in bytes, where more is refused; 0 is no limit.
    pub post_limit: u64,
    /// PHP looks whether scripts have changed: a classic site with `opcache.validate_timestamps`.
    pub revalidates: bool,
    /// Its path without symbolic links: what this generation serves, whatever the links say later.
    pub app: PathBuf,
    /// That of the folder whose files are sent, for a resident app that has one.
    pub root: Option<PathBuf>,
}

impl Booted {
    /// What the app returned, for people; `None` for a classic site.
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

/// How a worker is to leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drain {
    /// Answer what idle connections still send (with `Connection: close`) before closing them: a reload. Otherwise
    /// idle connections are closed at once: a stop.
    pub linger: bool,
    /// Seconds until what still runs is given up.
    pub deadline: f64,
}

/// Supervisor → worker. End of file means the supervisor is gone: drain and leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum ToWorker {
    Drain(Drain),
    /// Say how its pools are: [`FromWorker::Pools`].
    Pools,
    /// The files of logs may be others now.
    ReopenLogs,
}

/// Worker → supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// It accepts connections.
    Ready,
    /// It stopped accepting and finishes what it has, for this reason: start another in its slot now.
    Leaving { reason: String },
    /// It is to be replaced, for this reason: start another in its slot, and tell it to drain when that one is ready. Until
    /// then it serves. `broken`: because of a fatal error in PHP; otherwise it has served as much as it should
    /// (`workers.max_requests`, `workers.max_memory`).
    WantsRecycle { reason: String, broken: bool },
    /// How its pools are, as `Hearth\Internal\PoolReports::reportPools()` says it; empty if it cannot say.
    Pools { report: String },
    /// It could not start (an app that boots in each worker and failed there).
    Failed { message: String },
}

/// Worker → the worker of another slot, through that one's inbox. Descriptor: a client's connection of which nothing has
/// been read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HandOff {
    /// The process for which it was counted.
    pub pid: u32,
}

/// What may change while the front runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontSettings {
    /// `app` and `site.root` are without symbolic links, as the generation has it that serves.
    pub settings: Settings,
    /// Bytes of a body that the app takes (`post_max_size` of a resident app); 0 is no limit.
    pub post_limit: u64,
}

/// Everything a front needs: the first message it gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontStart {
    /// Build id of the sender.
    pub build: String,
    pub settings: FrontSettings,
}

/// Supervisor → front. End of file means the supervisor is gone: drain and leave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToFront {
    /// Once, first. Descriptors: a scoreboard for each of its threads.
    Start(Box<FrontStart>),
    /// Accept. Descriptors: listening sockets, as many as fit; the others come in further messages.
    Listen,
    /// From now on. Sent with every generation, so that the site is looked at anew.
    Settings(Box<FrontSettings>),
    /// This worker is ready. Descriptor: its front channel.
    Worker { worker: u64 },
    /// Send no more to this worker, and close its front channel: it answers what it has through the relay.
    Retire { worker: u64 },
    /// The files of logs may be others now.
    ReopenLogs,
    /// Stop accepting, finish what clients have asked for, and leave.
    Drain { deadline: f64 },
}

/// Front → supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromFront {
    /// It runs.
    Ready,
    /// It cannot start.
    Failed { message: String },
    /// No worker can take a request, and processors have nothing to do. With as many workers as this requests wait less, or if none
    /// does, the next need not wait.
    Short { workers: u32, waiting: bool },
}

/// Front → worker, through its front channel. End of file means that nothing more will come: finish and leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum FrontToWorker {
    /// Claim requests as this consumer too; each thread of the front has one for each worker. Descriptors: the thread's memory; a stream socket, for what does not fit there and to
    /// hear of each other's end; what wakes the worker; what wakes the front.
    Attach { consumer: u16 },
}
