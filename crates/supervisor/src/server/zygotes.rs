//! The end of zygotes: on request, late, or unexpected, in which case the app is booted again.

use std::sync::Arc;
use std::time::Duration;

use ipc::BootFailure;

use super::Server;
use crate::boot;
use crate::event::Timer;
use crate::signal::describe;

/// How long a zygote may take to leave after its dismissal.
pub(super) const ZYGOTE_LEAVES: Duration = Duration::from_secs(2);

impl Server {
    /// Handles the end of a zygote's channel. Unless it was dismissed, the zygote is ending, or its state is broken.
    pub(super) fn zygote_closed(&mut self, number: u32, mistake: Option<String>) {
        if let Some(mistake) = mistake {
            logging::alert!("generation {number}: invalid message from the zygote: {mistake}");
        }
        self.events.later(ZYGOTE_LEAVES, Timer::KillZygote(number));
        let generation = self.generations.get_mut(number);
        if let Some(zygote) = generation.and_then(|generation| generation.zygote.as_mut())
            && let Some(status) = zygote.exit.close()
        {
            self.zygote_ended(number, status);
        }
    }

    pub(super) fn kill_zygote(&mut self, number: u32) {
        if let Some(zygote) = self
            .generations
            .get(number)
            .and_then(|generation| generation.zygote.as_ref())
        {
            logging::warning!(
                "killing a zygote that does not leave generation={number} pid={}",
                zygote.pid
            );
            let pid = i32::try_from(zygote.pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            // The zygote is not reaped yet, so the pid is its own.
            let _ =
                pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
    }

    pub(super) fn zygote_ended(&mut self, number: u32, status: i32) {
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let life = generation.began.elapsed();
        let dismissed = generation
            .zygote
            .take()
            .is_some_and(|zygote| zygote.link.is_none());
        let ended = match generation.booted {
            None => boot::ended(&generation.program, status),
            Some(_) => BootFailure::Failed(format!("the zygote {}", describe(status))),
        };
        // The workers that were requested and not forked never start.
        for id in std::mem::take(&mut generation.forking) {
            self.workers.remove(&id);
        }
        if self.generations.next == Some(number) {
            self.abort_generation(number, ended);
        } else if self.generations.current == Some(number) && !dismissed && !self.stopping() {
            logging::error!(
                "{ended}; its workers go on, and the app is booted again generation={number}"
            );
            self.reboot_later(life);
        }
        self.reap_generations();
    }

    /// Boots the app again after a pause, which depends on the life of the zygote that was lost.
    pub(super) fn reboot_later(&mut self, life: Duration) {
        let pause = self.generations.reboots.after(life, false);
        self.events.later(pause, Timer::Reboot);
    }

    /// Boots the app in place of a lost zygote.
    pub(super) fn reboot(&mut self) {
        let lost = self
            .generations
            .current
            .is_some_and(|current| !self.can_fork(current));
        if !lost || self.generations.next.is_some() || self.stopping() {
            return;
        }
        if let Err(e) = self.start_generation(Arc::clone(&self.settings)) {
            logging::error!("cannot boot the app again: {e}");
            self.reboot_later(Duration::ZERO);
        }
    }

    pub(super) fn can_fork(&self, number: u32) -> bool {
        let zygote = self
            .generations
            .get(number)
            .and_then(|generation| generation.zygote.as_ref());
        zygote.is_some_and(|zygote| zygote.link.is_some())
    }
}
