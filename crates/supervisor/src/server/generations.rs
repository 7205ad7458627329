//! Generations: the one that serves, the one that follows, and those that leave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipc::BootFailure;

use super::zygotes::ZYGOTE_LEAVES;
use super::{Phase, Server};
use crate::backoff::Backoff;
use crate::error::Error;
use crate::event::Timer;
use crate::generation::{Generation, Zygote};
use crate::worker::{State, WorkerId};

/// Every generation that has a process, and which of them serves.
#[derive(Default)]
pub(super) struct Generations {
    pub(super) known: BTreeMap<u32, Generation>,
    pub(super) current: Option<u32>,
    pub(super) next: Option<u32>,
    pub(super) last: u32,
    /// Pauses before the app is booted again after its zygote was lost.
    pub(super) reboots: Backoff,
}

impl Generations {
    pub(super) fn get(&self, number: u32) -> Option<&Generation> {
        self.known.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Generation> {
        self.known.get_mut(&number)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Generation> {
        self.known.values()
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Generation> {
        self.known.values_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of the generation that serves; before the first one serves, of the one that boots.
    pub(super) fn newest_number(&self) -> Option<u32> {
        self.current.or(self.next)
    }

    pub(super) fn newest(&self) -> Option<&Generation> {
        self.newest_number().and_then(|number| self.get(number))
    }

    /// Whether this generation serves or is to serve.
    pub(super) fn is_active(&self, number: u32) -> bool {
        [self.current, self.next].contains(&Some(number))
    }

    pub(super) fn zygote_mut(&mut self, pid: u32) -> Option<&mut Zygote> {
        let zygotes = self.known.values_mut();
        let mut zygotes = zygotes.filter_map(|generation| generation.zygote.as_mut());
        zygotes.find(|zygote| zygote.pid == pid)
    }

    pub(super) fn of_zygote(&self, pid: u32) -> Option<u32> {
        let is_it = |generation: &Generation| {
            let zygote = generation.zygote.as_ref();
            zygote.is_some_and(|zygote| zygote.pid == pid)
        };
        let mut known = self.known.iter();
        known.find(|(_, it)| is_it(it)).map(|(number, _)| *number)
    }
}

impl Server {
    /// Lets the next generation take over, if each of its slots has a worker that accepts.
    pub(super) fn promote(&mut self, number: u32) {
        let is_next = self.generations.next == Some(number);
        if !is_next || !self.slots.iter().all(|slot| self.is_served(number, *slot)) {
            return;
        }
        let Some(generation) = self.generations.get(number) else {
            return;
        };
        let took = generation.began.elapsed().as_millis();
        self.settings = Arc::clone(&generation.settings);
        let first = self.generations.current.is_none();
        self.generations.current = Some(number);
        self.generations.next = None;
        self.send_settings();
        self.hand_over_all();
        logging::info!(
            "serving generation={number} workers={} ms={took}",
            self.slots.len()
        );
        match first {
            true => self.begin_to_serve(),
            false => self.replaced_by(number),
        }
        self.watch_preloaded_files(number);
        self.reloaded(&Ok(format!(
            "generation {number} serves, booted in {took} ms"
        )));
    }

    fn begin_to_serve(&mut self) {
        self.phase = Phase::Running;
        self.announce();
    }

    fn replaced_by(&mut self, number: u32) {
        self.reloads.done += 1;
        self.shared.quarantine.table.clear();
        self.retire_others(number);
        self.notify_service_manager();
    }

    fn retire_others(&mut self, current: u32) {
        let deadline = self.settings.reload_timeout;
        let old: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| worker.generation != current && worker.state() != State::Draining)
            .map(|(id, _)| *id)
            .collect();
        for id in old {
            self.drain(id, true, deadline);
        }
        self.reap_generations();
    }

    /// Gives the next generation up. The current one, if there is one, goes on.
    pub(super) fn abort_generation(&mut self, number: u32, why: BootFailure) {
        if self.generations.next != Some(number) {
            return;
        }
        self.generations.next = None;
        self.discard(number);
        if let Some(current) = self.generations.current {
            self.keep(current, number, &why);
        } else if !self.start_without_preload(number, &why) {
            self.give_up(why);
        }
    }

    /// Stops the server because no generation serves: it ends when none of its processes is left.
    fn give_up(&mut self, why: BootFailure) {
        self.failure = Some(Error::Boot(why));
        self.phase = Phase::Stopping;
        self.stop_front(Duration::ZERO);
        self.reap_generations();
    }

    fn keep(&mut self, current: u32, failed: u32, why: &BootFailure) {
        logging::error!("generation {failed} failed and changes nothing: {why}");
        self.notify_service_manager();
        let lost = !self.can_fork(current);
        self.reloaded(&Err(why.to_string()));
        if lost && self.generations.next.is_none() {
            self.reboot_later(Duration::ZERO);
        }
    }

    /// Kills every process of a generation that never served.
    pub(super) fn discard(&mut self, number: u32) {
        for worker in self
            .workers
            .values_mut()
            .filter(|worker| worker.generation == number)
        {
            worker.advance(State::Draining);
            worker.kill();
        }
        if let Some(generation) = self.generations.get_mut(number) {
            if let Some(zygote) = &mut generation.zygote {
                zygote.dismiss();
                zygote.kill_group();
            }
            // The zygote forks none of the workers that were requested before.
            for id in std::mem::take(&mut generation.forking) {
                self.workers.remove(&id);
            }
        }
    }

    /// Dismisses zygotes without a purpose, and forgets generations that have no process left.
    pub(super) fn reap_generations(&mut self) {
        let (current, next) = (self.generations.current, self.generations.next);
        let mut dismissed = Vec::new();
        let workers = &self.workers;
        let stopping = self.phase == Phase::Stopping;
        self.generations.known.retain(|number, generation| {
            let is_active = !stopping && [current, next].contains(&Some(*number));
            if is_active || workers.values().any(|worker| worker.generation == *number) {
                return true;
            }
            let zygote = generation.zygote.as_mut();
            if zygote.is_some_and(|zygote| zygote.dismiss()) {
                dismissed.push(*number);
            }
            generation.zygote.is_some()
        });
        for number in dismissed {
            self.events.later(ZYGOTE_LEAVES, Timer::KillZygote(number));
        }
        self.finish_if_empty();
    }
}
