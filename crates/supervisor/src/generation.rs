//! A generation, one boot of the app: a zygote and the workers that it has forked.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use config::Settings;
use ipc::{Booted, ToZygote};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::backoff::Backoff;
use crate::link::Link;
use crate::preload::{PreloadStatus, PreloadedFiles};
use crate::process_exit::ProcessExit;
use crate::program::Program;
use crate::worker::WorkerId;

#[derive(Debug)]
pub(crate) struct Generation {
    pub(crate) program: Program,
    pub(crate) settings: Arc<Settings>,
    pub(crate) began: Instant,
    pub(crate) zygote: Option<Zygote>,
    pub(crate) booted: Option<Booted>,
    pub(crate) preload: Option<PreloadStatus>,
    pub(crate) preloaded_files: PreloadedFiles,
    pub(crate) slots: Vec<Slot>,
    /// Workers requested and not yet forked, in order.
    pub(crate) forking: VecDeque<WorkerId>,
}

/// The worker that accepts in a slot, and how its predecessors fared.
#[derive(Debug, Default, Clone)]
pub(crate) struct Slot {
    pub(crate) worker: Option<WorkerId>,
    pub(crate) backoff: Backoff,
}

#[derive(Debug)]
pub(crate) struct Zygote {
    pub(crate) pid: u32,
    /// `None` once the zygote was dismissed.
    pub(crate) link: Option<Link<ToZygote>>,
    pub(crate) exit: ProcessExit,
}

impl Zygote {
    /// Tells the zygote to leave, and reads no more from it. False if it was dismissed before.
    pub(crate) fn dismiss(&mut self) -> bool {
        self.exit.close();
        self.link.take().is_some()
    }

    /// Kills the zygote and all processes that it has forked. Called only while it is not reaped, so that the pid is its
    /// own.
    pub(crate) fn kill_group(&self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
