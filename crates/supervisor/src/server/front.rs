//! Balanced dispatch: the front's life, and which workers it has.

use std::sync::Arc;
use std::time::Duration;

use config::Dispatch;
use ipc::{FromFront, FrontSettings};

use super::Server;
use super::stopping::OBEYS;
use crate::event::Timer;
use crate::front::{Front, settings};
use crate::link::Said;
use crate::log;
use crate::signal::describe;
use crate::spread::Spread;
use crate::status::FrontStatus;
use crate::worker::{State, WorkerId, resident};

impl Server {
    pub(super) fn is_balanced(&self) -> bool {
        self.dispatch == Some(Dispatch::Balanced)
    }

    /// How requests are dispatched is known when the app is: the first that boots decides.
    pub(super) fn decide_dispatch(&mut self, number: u32, concurrency: u32) {
        let Some(generation) = self.generations.get(&number) else {
            return;
        };
        let settings = Arc::clone(&generation.settings);
        let wanted = settings.dispatch(concurrency);
        if let Some(decided) = self.dispatch {
            if decided != wanted {
                log::warning!(
                    "with {concurrency} requests at a time in each worker dispatch would be {wanted:?} now; that takes a restart generation={number}"
                );
            }
            return;
        }
        self.dispatch = Some(wanted);
        if wanted == Dispatch::Balanced {
            self.slots = (0..settings.workers.number(concurrency)).collect();
            self.make_room_for_slots();
            self.start_front();
            self.watch_idle();
        } else if self.slots.len() > 1 {
            match Spread::new(self.slots.len() as u32) {
                Ok(spread) => self.spread = Some(spread),
                Err(e) => log::warning!("connections are left where the kernel deals them: {e}"),
            }
        }
    }

    pub(super) fn start_front(&mut self) {
        if self.front.is_some() || self.stopping() {
            return;
        }
        let threads = self.settings.front_threads;
        let Some(sockets) = &mut self.sockets else {
            return;
        };
        let started = sockets.for_front(threads).and_then(|sockets| {
            let settings = self.front_settings();
            Front::start(settings, threads, sockets, self.build, &self.events)
        });
        match started {
            Ok(front) => {
                log::debug!("started the front pid={}", front.pid);
                self.front = Some(front);
                self.hand_over_all();
            }
            Err(e) => {
                log::error!("cannot start the front: {e}");
                self.front_later(Duration::ZERO);
            }
        }
    }

    /// After one that lived so long.
    fn front_later(&mut self, life: Duration) {
        let pause = self.front_deaths.after(life, false);
        self.events.later(pause, Timer::Front);
    }

    pub(super) fn front_said(&mut self, pid: u32, said: Said<FromFront>) {
        let Some(front) = self.front.as_mut().filter(|front| front.pid == pid) else {
            return;
        };
        match said {
            Said::Message(FromFront::Ready, _) => front.is_ready = true,
            Said::Message(FromFront::Short { workers }, _) => self.grow(workers),
            Said::Message(FromFront::Failed { message }, _) => {
                log::error!("the front cannot start: {message} pid={pid}")
            }
            Said::Message(FromFront::Trouble { message }, _) => {
                log::warning!("front: {message} pid={pid}")
            }
            Said::Message(FromFront::Notice { message }, _) => {
                log::info!("front: {message} pid={pid}")
            }
            Said::Closed(mistake) => {
                if let Some(mistake) = mistake {
                    log::alert!("the front said something we do not understand: {mistake}");
                }
                self.events.later(OBEYS, Timer::KillFront(pid));
            }
        }
    }

    /// True if that was it.
    pub(super) fn front_ended(&mut self, pid: u32, status: i32) -> bool {
        let Some(front) = self.front.take_if(|front| front.pid == pid) else {
            return false;
        };
        let mut counters = front.snapshot();
        super::workers::settle(&mut counters);
        self.retired.add(&counters);
        if self.stopping() {
            if !front.is_leaving || status != 0 {
                log::error!("the front {} pid={pid}", describe(status));
            }
            self.close_doors();
            self.finish_if_empty();
        } else {
            log::error!(
                "the front {} pid={pid}; another takes its place",
                describe(status)
            );
            self.front_restarts += 1;
            self.front_later(front.since.elapsed());
        }
        true
    }

    pub(super) fn kill_front(&self, pid: u32) {
        if let Some(front) = self.front.as_ref().filter(|front| front.pid == pid) {
            log::warning!("killing a front that does not leave pid={pid}");
            front.kill();
        }
    }

    /// Let it finish; when it has left, workers do.
    pub(super) fn stop_front(&mut self, deadline: Duration) {
        match &mut self.front {
            Some(front) => {
                front.drain(deadline);
                let pid = front.pid;
                self.events.later(deadline + OBEYS, Timer::KillFront(pid));
            }
            None => self.close_doors(),
        }
    }

    fn front_settings(&self) -> FrontSettings {
        let generation = self.current.or(self.rising);
        let booted = generation
            .and_then(|number| self.generations.get(&number))
            .and_then(|generation| generation.booted.as_ref());
        let app = booted.map_or(&self.settings.app, |booted| &booted.app);
        let post_limit = booted.map_or(0, |booted| booted.post_limit);
        settings(&self.settings, app, post_limit)
    }

    /// A new generation serves.
    pub(super) fn tell_front(&self) {
        if let Some(front) = &self.front {
            front.change(self.front_settings());
        }
    }

    // ---- its workers ----

    /// The front gets this worker, if it is one that serves. A copy of the door stays here, for the next front.
    pub(super) fn hand_over(&self, id: WorkerId) {
        let (Some(front), Some(worker)) = (&self.front, self.workers.get(&id)) else {
            return;
        };
        let serves = matches!(worker.state, State::Ready | State::Worn)
            && self.current == Some(worker.generation);
        let Some(door) = worker.door.as_ref().filter(|_| serves) else {
            return;
        };
        match door.try_clone() {
            Ok(door) => front.give(id, door),
            Err(e) => log::error!(
                "cannot give a worker to the front: {e} slot={}",
                worker.slot
            ),
        }
    }

    pub(super) fn hand_over_all(&self) {
        self.workers.keys().for_each(|id| self.hand_over(*id));
    }

    /// No more requests for this worker: it leaves when it has answered what it has.
    pub(super) fn retire_from_front(&mut self, id: WorkerId) {
        let door = self
            .workers
            .get_mut(&id)
            .and_then(|worker| worker.door.take());
        if let (Some(front), Some(_)) = (&self.front, door) {
            front.retire(id);
        }
    }

    fn close_doors(&mut self) {
        self.workers
            .values_mut()
            .for_each(|worker| worker.door = None);
    }

    pub(super) fn front_status(&self) -> Option<FrontStatus> {
        if !self.is_balanced() {
            return None;
        }
        let front = self.front.as_ref();
        let snapshot = front.map(Front::snapshot).unwrap_or_default();
        Some(FrontStatus {
            pid: front.map(|front| front.pid),
            state: match front {
                Some(front) if front.is_leaving => "leaving",
                Some(front) if front.is_ready => "ready",
                _ => "starting",
            }
            .into(),
            uptime_seconds: front.map_or(0.0, |front| front.since.elapsed().as_secs_f64()),
            connections: snapshot.connections(),
            waiting: snapshot.waiting(),
            cpu_seconds: front.map(Front::cpu_seconds).unwrap_or_default(),
            resident_bytes: front.map_or(0, |front| resident(front.pid)),
            restarts: self.front_restarts,
        })
    }
}
