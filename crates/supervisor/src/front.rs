//! The supervisor's side of the front, the process that accepts connections with balanced dispatch.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ipc::{Channel, FromFront, FrontSettings, FrontStart, MAX_DESCRIPTORS, ToFront};
use rustix::process::{Pid, Signal, kill_process};
use shm::{Latencies, Scoreboard, Snapshot};

use crate::error::Error;
use crate::event::{Event, Events};
use crate::link::{Link, Received};
use crate::process_exit::ProcessExit;
use crate::systemd;

/// This program, even after its file was replaced by another version.
const PROGRAM: &str = "/proc/self/exe";

/// A front that runs and is not reaped yet.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) pid: u32,
    boards: Vec<Scoreboard>,
    pub(crate) since: Instant,
    pub(crate) is_ready: bool,
    /// Whether the front was sent `Drain`.
    pub(crate) is_draining: bool,
    pub(crate) exit: ProcessExit,
    link: Link<ToFront>,
}

impl Front {
    /// Starts a front of `threads` threads that accepts on these sockets.
    pub(crate) fn start(
        settings: FrontSettings,
        threads: u32,
        sockets: Vec<OwnedFd>,
        build: &str,
        events: &Events,
    ) -> Result<Front, Error> {
        let (ours, theirs) = Channel::pair()?;
        let boards = (0..threads).map(|_| Scoreboard::create(1));
        let boards = boards.collect::<Result<Vec<_>, _>>()?;
        let copies = boards
            .iter()
            .map(|board| board.as_fd().try_clone_to_owned());
        let copies = copies.collect::<Result<_, _>>()?;
        let pid = spawn(theirs)?;
        let events = events.clone();
        let link = Link::open(ours, move |received: Received<FromFront>| {
            events.send(Event::Front(pid, received))
        })?;
        let start = FrontStart {
            build: build.into(),
            settings,
        };
        link.send(ToFront::Start(Box::new(start)), copies);
        let mut sockets = sockets.into_iter().peekable();
        while sockets.peek().is_some() {
            let some = sockets.by_ref().take(MAX_DESCRIPTORS).collect();
            link.send(ToFront::Listen, some);
        }
        Ok(Front {
            pid,
            boards,
            since: Instant::now(),
            is_ready: false,
            is_draining: false,
            exit: ProcessExit::default(),
            link,
        })
    }

    /// CPU seconds of each thread. With several threads the first is left out, because it only passes messages on.
    pub(crate) fn cpu_seconds(&self) -> Vec<f64> {
        let passes_on = usize::from(self.boards.len() > 1);
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid));
        let mut stats: Vec<_> = threads
            .into_iter()
            .flatten()
            .filter_map(|thread| Some(thread.ok()?.path()))
            .collect();
        stats.sort_by_key(|path| path.file_name()?.to_str()?.parse::<u32>().ok());
        let stats = stats.into_iter().skip(passes_on);
        stats
            .filter_map(|path| cpu_seconds(&path.join("stat")))
            .collect()
    }

    /// The sum of the counters of all threads.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut sum = Snapshot::default();
        for board in &self.boards {
            sum.add(&board.snapshot());
        }
        sum
    }

    /// How long requests took, summed over all threads.
    pub(crate) fn latencies(&self) -> Latencies {
        let mut sum = Latencies::default();
        self.boards
            .iter()
            .for_each(|board| sum.add(&board.latencies()));
        sum
    }

    pub(crate) fn change(&self, settings: FrontSettings) {
        self.link
            .send(ToFront::Settings(Box::new(settings)), Vec::new());
    }

    pub(crate) fn give(&self, worker: u64, front_channel: OwnedFd) {
        self.link
            .send(ToFront::Worker { worker }, vec![front_channel]);
    }

    pub(crate) fn retire(&self, worker: u64) {
        self.link.send(ToFront::Retire { worker }, Vec::new());
    }

    pub(crate) fn reopen_logs(&self) {
        self.link.send(ToFront::ReopenLogs, Vec::new());
    }

    pub(crate) fn drain(&mut self, deadline: Duration) {
        self.is_draining = true;
        let deadline = deadline.as_secs_f64();
        self.link.send(ToFront::Drain { deadline }, Vec::new());
    }

    pub(crate) fn kill(&self) {
        // The process is not reaped yet, so the pid is its own.
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Reads a thread's `stat` (`man proc_pid_stat`): fields 14 and 15, in ticks.
fn cpu_seconds(stat: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(stat).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Spawns the process in a process group of its own, so that signals of the terminal do not reach it. Its channel is its
/// standard input.
fn spawn(channel: Channel) -> Result<u32, Error> {
    let mut command = Command::new(PROGRAM);
    let child = systemd::hide(&mut command)
        .arg0("hearth")
        .arg("front")
        .stdin(Stdio::from(OwnedFd::from(channel)))
        .process_group(0)
        .spawn();
    let child = child.map_err(|source| Error::Spawn {
        program: "hearth front".into(),
        source,
    })?;
    Ok(child.id())
}
