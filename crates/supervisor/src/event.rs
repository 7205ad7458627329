//! Events: everything that the server reacts to.

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

/// An event.
#[derive(Debug)]
pub(crate) enum Event {
    Zygote(u32, Received<FromZygote>),
    Worker(WorkerId, Received<FromWorker>),
    /// A message of the front with this process id.
    Front(u32, Received<FromFront>),
    /// The process of a worker has ended, and its parent has not reported how.
    Gone(WorkerId),
    /// A child process was reaped: one of this process, or one that this process adopted when its parent died.
    Reaped {
        pid: u32,
        status: i32,
    },
    Signal(Signal),
    Command(Command),
    Timer(Timer),
}

/// A command from the control socket, the admin server or the watcher.
#[derive(Debug)]
pub(crate) enum Command {
    Status(oneshot::Sender<Status>),
    /// The status with the connection pools, which are requested from the workers first.
    StatusWithPools(oneshot::Sender<Status>),
    Cache(CacheQuestion, ReplyTo),
    /// The memory of the cache, for a process of this build.
    CacheMemory(String, oneshot::Sender<Option<Vec<OwnedFd>>>),
    Reload(Option<ReplyTo>),
    Stop(Option<ReplyTo>),
}

/// The sender of a result to a caller that waits for it.
pub(crate) type ReplyTo = oneshot::Sender<Result<String, String>>;

/// An action that is due. Each is checked again at that time.
#[derive(Debug)]
pub(crate) enum Timer {
    /// Starts a worker in a slot of a generation.
    Fork { generation: u32, slot: u32 },
    /// Gives up a generation that is still not up.
    BootDeadline(u32),
    /// Logs the requests of a worker that is still there: they are cut off.
    CutOff(WorkerId),
    /// Kills a worker that is still there.
    Kill(WorkerId),
    /// Kills a zygote that is still there.
    KillZygote(u32),
    /// Counts a process that has exited as ended, although its channel may still be open.
    Ended { pid: u32, status: i32 },
    /// Checks for idle workers.
    Idle,
    /// Checks whether requests wait.
    Saturation,
    /// Starts another front.
    Front,
    /// Kills a front that is still there.
    KillFront(u32),
    /// Checks whether a file that this generation has preloaded has changed.
    PreloadedFiles(u32),
    /// Boots the app again after a zygote was lost.
    Reboot,
    /// Stops waiting for workers that have not reported their pools in this round.
    Pools(u64),
    /// Notifies the service manager that events are handled.
    Watchdog,
    /// Gives up requests that still run.
    StopDeadline,
}

/// Sends events to the server.
#[derive(Debug, Clone)]
pub(crate) struct Events(pub(crate) UnboundedSender<Event>);

impl Events {
    /// Sends an event. The receiver lives as long as the server; events after that are not needed.
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
