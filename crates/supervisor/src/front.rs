//! The front, seen from here: the process that balanced dispatch puts before the workers.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use config::{Mode, Settings, Workers};
use ipc::{
    Channel, FromFront, FrontSettings, FrontSite, FrontStart, MAX_DESCRIPTORS, PROTOCOL, ToFront,
};
use rustix::process::{Pid, Signal, kill_process};
use scoreboard::Scoreboard;

use crate::boot;
use crate::error::Error;
use crate::event::{Event, Events};
use crate::link::{Link, Said};

/// This very program, also after its file was replaced by another version.
const PROGRAM: &str = "/proc/self/exe";

/// One that runs and is not reaped yet.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) pid: u32,
    pub(crate) board: Scoreboard,
    pub(crate) since: Instant,
    pub(crate) is_ready: bool,
    /// Told to leave.
    pub(crate) is_leaving: bool,
    link: Link<ToFront>,
}

/// `app`: its path without symbolic links, as the generation that serves has it.
pub(crate) fn settings(settings: &Settings, app: &Path, post_limit: u64) -> FrontSettings {
    let site = || FrontSite {
        app: app.to_owned(),
        follow: settings.follow.clone(),
        deny: settings.deny.clone(),
    };
    FrontSettings {
        site: (settings.mode == Mode::Classic).then(site),
        http: boot::http(settings),
        post_limit,
        queue: settings.queue,
        queue_timeout: settings.queue_timeout.as_secs_f64(),
        is_elastic: matches!(settings.workers, Workers::Between { .. }),
    }
}

impl Front {
    /// Start one that accepts on these sockets.
    pub(crate) fn start(
        settings: FrontSettings,
        sockets: Vec<OwnedFd>,
        build: &str,
        events: &Events,
    ) -> Result<Front, Error> {
        let (ours, theirs) = Channel::pair()?;
        let board = Scoreboard::create(1)?;
        let pid = spawn(theirs)?;
        let events = events.clone();
        let link = Link::open(ours, move |said: Said<FromFront>| {
            events.send(Event::Front(pid, said))
        })?;
        let start = FrontStart {
            protocol: PROTOCOL,
            build: build.into(),
            settings,
        };
        link.send(
            ToFront::Start(Box::new(start)),
            vec![board.as_fd().try_clone_to_owned()?],
        );
        let mut sockets = sockets.into_iter().peekable();
        while sockets.peek().is_some() {
            let some = sockets.by_ref().take(MAX_DESCRIPTORS).collect();
            link.send(ToFront::Listen, some);
        }
        Ok(Front {
            pid,
            board,
            since: Instant::now(),
            is_ready: false,
            is_leaving: false,
            link,
        })
    }

    pub(crate) fn change(&self, settings: FrontSettings) {
        self.link
            .send(ToFront::Settings(Box::new(settings)), Vec::new());
    }

    pub(crate) fn give(&self, worker: u64, door: OwnedFd) {
        self.link.send(ToFront::Worker { worker }, vec![door]);
    }

    pub(crate) fn retire(&self, worker: u64) {
        self.link.send(ToFront::Retire { worker }, Vec::new());
    }

    pub(crate) fn drain(&mut self, deadline: Duration) {
        self.is_leaving = true;
        let deadline = deadline.as_secs_f64();
        self.link.send(ToFront::Drain { deadline }, Vec::new());
    }

    pub(crate) fn kill(&self) {
        // Not reaped yet: the number is its own.
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// In a group of its own: signals of the terminal do not reach it. Its channel is its standard input.
fn spawn(channel: Channel) -> Result<u32, Error> {
    let child = Command::new(PROGRAM)
        .arg0("hearth")
        .arg("front")
        .stdin(Stdio::from(OwnedFd::from(channel)))
        .env_remove("NOTIFY_SOCKET")
        .process_group(0)
        .spawn();
    let child = child.map_err(|source| Error::Spawn {
        program: "hearth front".into(),
        source,
    })?;
    Ok(child.id())
}
