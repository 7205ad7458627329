//! Everything that can happen.

use std::os::fd::OwnedFd;
use std::time::Duration;

use ipc::{FromFront, FromWorker, FromZygote};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::cache::CacheQuestion;
use crate::link::Received;
use crate::signal::Signal;
use crate::status::Status;
use crate::worker::WorkerId;

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Event {
    Zygote(u32, Received<FromZygote>),
    Worker(WorkerId, Received<FromWorker>),
    /// By its process id.
    Front(u32, Received<FromFront>),
    /// A worker's process is gone, and its parent has not told us how it ended.
    Gone(WorkerId),
    /// A child of ours, or one that became ours when its parent died.
    Reaped {
        pid: u32,
        status: i32,
    },
    Signal(Signal),
    Command(Command),
    Timer(Timer),
}

/// From the control socket, the admin server, or the watcher.
#[derive(Debug)]
pub(crate) enum Command {
    Status(oneshot::Sender<Status>),
    /// With the connection pools, about which the workers are asked first.
    StatusWithPools(oneshot::Sender<Status>),
    Cache(CacheQuestion, ReplyTo),
    /// The memory of the cache, for a process of this build.
    CacheMemory(String, oneshot::Sender<Option<Vec<OwnedFd>>>),
    Reload(Option<ReplyTo>),
    Stop(Option<ReplyTo>),
}

/// Senders to those that wait for the end of something, for its result.
pub(crate) type ReplyTo = oneshot::Sender<Result<String, String>>;

/// What was to happen later. Each is checked again when it does.
#[derive(Debug)]
pub(crate) enum Timer {
    /// Start a worker in a slot of a generation.
    Fork { generation: u32, slot: u32 },
    /// A generation that is still not up by now is given up.
    BootDeadline(u32),
    /// A worker that is still there by now breaks off its requests.
    CutOff(WorkerId),
    /// A worker that is still there by now is killed.
    Kill(WorkerId),
    /// A zygote that is still there by now is killed.
    KillZygote(u32),
    /// A process that exited, and whose channel may be open still, has ended.
    Ended { pid: u32, status: i32 },
    /// Look for workers that have nothing to do.
    Idle,
    /// Look whether requests wait.
    Saturation,
    /// Start another front.
    Front,
    /// A front that is still there by now is killed.
    KillFront(u32),
    /// Look whether a file that this generation has preloaded has changed.
    PreloadedFiles(u32),
    /// Boot the app again after a zygote was lost.
    Reboot,
    /// Workers that have not said by now how their pools are, in this round of asking, are not waited for.
    Pools(u64),
    /// Tell the service manager that events are handled.
    Watchdog,
    /// Requests that still run by now are given up.
    StopDeadline,
}

/// Where events go.
#[derive(Debug, Clone)]
pub(crate) struct Events(pub(crate) UnboundedSender<Event>);

impl Events {
    /// The receiver lives as long as the server: what comes after it is not needed.
    pub(crate) fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }

    pub(crate) fn later(&self, delay: Duration, timer: Timer) {
        let events = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            events.send(Event::Timer(timer));
        });
    }
}
