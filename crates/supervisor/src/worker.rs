//! The supervisor's side of a worker.

use std::cell::Cell;
use std::fmt::{self, Display, Formatter};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ipc::{Drain, ToWorker};
use rustix::process::{Pid, Signal, kill_process, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use shm::{Counter, InFlight, Scoreboard};
use tokio::io::Interest;

use crate::event::{Event, Events};
use crate::link::Link;
use crate::process_exit::{LAST_MESSAGES, ProcessExit};

/// The id of a worker, never reused.
pub(crate) type WorkerId = u64;

/// The state of a worker, as `hearth status`, the log and the metrics name it. A worker passes them in this order, and may
/// skip some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Requested from the zygote; there may be no process yet.
    Forking,
    /// The process exists and does not accept yet.
    Starting,
    Ready,
    /// Ready, while its successor starts.
    Recycling,
    /// Finishes its requests and leaves, because it was told to or by itself.
    Draining,
}

impl State {
    /// The length is that of the enum, because `Draining` is its last variant.
    pub(crate) const ALL: [State; State::Draining as usize + 1] = [
        State::Forking,
        State::Starting,
        State::Ready,
        State::Recycling,
        State::Draining,
    ];
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Forking => "forking",
            State::Starting => "starting",
            State::Ready => "ready",
            State::Recycling => "recycling",
            State::Draining => "draining",
        })
    }
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) generation: u32,
    pub(crate) slot: u32,
    state: State,
    pub(crate) pid: Option<u32>,
    pub(crate) since: Instant,
    /// The number of requests that the worker had begun when it was ready: its own, if there is a `boot.probe`.
    pub(crate) probes: Option<u64>,
    pub(crate) board: Scoreboard,
    /// The front's end of the worker's front channel, for this front and the next.
    pub(crate) front_channel: Option<OwnedFd>,
    pub(crate) exit: ProcessExit,
    link: Link<ToWorker>,
    is_killed: Cell<bool>,
    /// Since when the worker has begun no request, and how many it had begun then.
    quiet: (Instant, u64),
    /// The pidfd, which names this process and no later one with the same number.
    handle: Option<OwnedFd>,
}

impl Worker {
    pub(crate) fn new(
        generation: u32,
        slot: u32,
        board: Scoreboard,
        link: Link<ToWorker>,
        front_channel: Option<OwnedFd>,
    ) -> Worker {
        let (state, since) = (State::Forking, Instant::now());
        Worker {
            generation,
            slot,
            state,
            pid: None,
            since,
            probes: None,
            board,
            front_channel,
            exit: ProcessExit::default(),
            link,
            is_killed: Cell::new(false),
            quiet: (since, 0),
            handle: None,
        }
    }

    /// How long the worker has been idle. `begun` is the number of requests that it has begun, some of which may be in
    /// flight.
    pub(crate) fn idle_for(&mut self, begun: u64, in_flight: u64) -> Duration {
        if in_flight > 0 || begun != self.quiet.1 {
            self.quiet = (Instant::now(), begun);
        }
        self.quiet.0.elapsed()
    }

    /// Sets the process of the worker. `handle` is its pidfd, by which its end is noticed whatever its parent reports.
    pub(crate) fn forked(
        &mut self,
        id: WorkerId,
        pid: u32,
        handle: Option<OwnedFd>,
        events: &Events,
    ) {
        self.pid = Some(pid);
        self.advance(State::Starting);
        // Without a pidfd (the system has none, or this process has no free descriptor) the parent still reports the end.
        let Some(handle) = handle else { return };
        let Ok(watched) = handle
            .try_clone()
            .and_then(|pidfd| ::server::channel::watch(pidfd, Interest::READABLE))
        else {
            return;
        };
        self.handle = Some(handle);
        let events = events.clone();
        tokio::spawn(async move {
            let _ = watched.readable().await;
            drop(watched);
            tokio::time::sleep(LAST_MESSAGES).await;
            events.send(Event::Gone(id));
        });
    }

    pub(crate) fn drain(&mut self, linger: bool, deadline: Duration) {
        self.advance(State::Draining);
        self.link.send(
            ToWorker::Drain(Drain {
                linger,
                deadline: deadline.as_secs_f64(),
            }),
            Vec::new(),
        );
    }

    pub(crate) fn request_pool_report(&self) {
        self.link.send(ToWorker::Pools, Vec::new());
    }

    pub(crate) fn reopen_logs(&self) {
        self.link.send(ToWorker::ReopenLogs, Vec::new());
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Changes the state, which never goes back. False if the state is as far already.
    pub(crate) fn advance(&mut self, next: State) -> bool {
        let advances = next > self.state;
        if advances {
            self.state = next;
        }
        if advances && next == State::Ready {
            self.since = Instant::now();
            self.probes = Some(self.begun());
        }
        advances
    }

    fn begun(&self) -> u64 {
        self.board.snapshot().get(Counter::Requests)
    }

    /// Whether the worker has begun a request of a client.
    pub(crate) fn has_served(&self) -> bool {
        self.probes.is_some_and(|probes| self.begun() > probes)
    }

    /// Whether this process has killed the worker.
    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.get()
    }

    pub(crate) fn kill(&self) {
        self.is_killed.set(true);
        // The process may just have ended.
        if let Some(handle) = &self.handle {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        } else if let Some(pid) = self.pid.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        self.pid.map_or(0, resident)
    }
}

/// Resident memory of a process in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok();
    let pages = statm.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Formats requests in flight for the log, without their queries, which may contain secrets.
pub(crate) fn list(requests: &[InFlight]) -> String {
    const MOST: usize = 20;
    let one = |r: &InFlight| {
        let torn = if r.torn { " (just beginning)" } else { "" };
        format!(
            "{} {} request={:016x} age={:.3}s{torn}",
            r.method,
            r.route(),
            r.id,
            r.age.as_secs_f64()
        )
    };
    let mut text = requests
        .iter()
        .take(MOST)
        .map(one)
        .collect::<Vec<_>>()
        .join("; ");
    if requests.len() > MOST {
        text.push_str(&format!("; and {} more", requests.len() - MOST));
    }
    text
}

#[cfg(test)]
mod tests {
    use ipc::Channel;
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::link::Received;

    /// The parent has reaped the worker before the supervisor hears of it, so the pid may belong to another process.
    #[tokio::test]
    async fn the_end_of_a_worker_that_is_reaped_already_is_noticed() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        child.wait().unwrap();
        let (sender, mut happened) = unbounded_channel();
        let (ours, _theirs) = Channel::pair().unwrap();
        let link = Link::open(ours, |_: Received<ipc::FromWorker>| {}).unwrap();
        let board = Scoreboard::create(1).unwrap();
        let mut worker = Worker::new(1, 0, board, link, None);
        worker.forked(7, pid, Some(handle), &Events(sender));
        assert!(matches!(happened.recv().await, Some(Event::Gone(7))));
        worker.kill();
    }
}
