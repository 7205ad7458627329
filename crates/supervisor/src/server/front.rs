//! Balanced dispatch: the life of the front, and the workers that it knows.

use std::sync::Arc;
use std::time::Duration;

use config::Dispatch;
use ipc::{FromFront, FrontSettings};

use super::Server;
use super::stopping::KILL_GRACE;
use crate::backoff::Backoff;
use crate::balancing::Balancing;
use crate::event::Timer;
use crate::front::Front;
use crate::link::Received;
use crate::signal::describe;
use crate::status::FrontStatus;
use crate::worker::{State, WorkerId, resident};

/// The front, if it runs, and the restarts of its predecessors.
#[derive(Default)]
pub(super) struct FrontControl {
    pub(super) process: Option<Front>,
    restarts: u64,
    deaths: Backoff,
}

impl Server {
    pub(super) fn is_balanced(&self) -> bool {
        self.dispatch == Some(Dispatch::Balanced)
    }

    /// Decides the dispatch mode, which depends on the app: the first generation that boots decides.
    pub(super) fn decide_dispatch(&mut self, number: u32, concurrency: u32) {
        let Some(generation) = self.generations.get(number) else {
            return;
        };
        let settings = Arc::clone(&generation.settings);
        let wanted = settings.dispatch(concurrency);
        if let Some(decided) = self.dispatch {
            if decided != wanted {
                logging::warning!(
                    "dispatch stays {decided}: with the new settings and app it would be {wanted}, which takes a restart generation={number}"
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
            match Balancing::new(self.slots.len() as u32) {
                Ok(balancing) => self.balancing = Some(balancing),
                Err(e) => {
                    logging::warning!(
                        "cannot balance connections between workers; they stay where the kernel puts them: {e}"
                    )
                }
            }
        }
    }

    pub(super) fn start_front(&mut self) {
        if self.front.process.is_some() || self.stopping() {
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
                logging::debug!("started the front pid={}", front.pid);
                self.front.process = Some(front);
                self.hand_over_all();
            }
            Err(e) => {
                logging::error!("cannot start the front: {e}");
                self.front_later(Duration::ZERO);
            }
        }
    }

    /// Starts another front after a pause, which depends on the life of the last one.
    fn front_later(&mut self, life: Duration) {
        let pause = self.front.deaths.after(life, false);
        self.events.later(pause, Timer::Front);
    }

    pub(super) fn front_message(&mut self, pid: u32, received: Received<FromFront>) {
        let Some(front) = self.front.process.as_mut().filter(|front| front.pid == pid) else {
            return;
        };
        match received {
            Received::Message(FromFront::Ready, _) => front.is_ready = true,
            Received::Message(FromFront::Short { workers, waiting }, _) => {
                self.grow(workers, waiting);
            }
            Received::Message(FromFront::Failed { message }, _) => {
                logging::error!("the front cannot start: {message} pid={pid}")
            }
            Received::Closed(mistake) => {
                if let Some(mistake) = mistake {
                    logging::alert!("invalid message from the front: {mistake}");
                }
                self.events.later(KILL_GRACE, Timer::KillFront(pid));
                if let Some(status) = front.exit.close() {
                    self.front_ended(pid, status);
                }
            }
        }
    }

    /// Handles the end of the front. Returns whether the process was the front.
    pub(super) fn front_ended(&mut self, pid: u32, status: i32) -> bool {
        let Some(front) = self.front.process.take_if(|front| front.pid == pid) else {
            return false;
        };
        let mut counters = front.snapshot();
        super::worker_exits::settle(&mut counters);
        self.ended_processes.add(&counters, &front.latencies());
        if self.stopping() {
            if !front.is_draining || status != 0 {
                logging::error!("the front {} pid={pid}", describe(status));
            }
            self.close_front_channels();
            self.finish_if_empty();
        } else {
            logging::error!(
                "the front {} pid={pid}; another takes its place",
                describe(status)
            );
            self.front.restarts += 1;
            self.front_later(front.since.elapsed());
        }
        true
    }

    pub(super) fn kill_front(&self, pid: u32) {
        if let Some(front) = self.front.process.as_ref().filter(|front| front.pid == pid) {
            logging::warning!("killing a front that does not leave pid={pid}");
            front.kill();
        }
    }

    /// Lets the front finish its requests. The workers leave when it has left.
    pub(super) fn stop_front(&mut self, deadline: Duration) {
        match &mut self.front.process {
            Some(front) => {
                front.drain(deadline);
                let pid = front.pid;
                self.events
                    .later(deadline + KILL_GRACE, Timer::KillFront(pid));
            }
            None => self.close_front_channels(),
        }
    }

    fn front_settings(&self) -> FrontSettings {
        let newest = self.generations.newest();
        let booted = newest.and_then(|generation| generation.booted.as_ref());
        let mut settings = (*self.settings).clone();
        // The limit is for workers only.
        settings.http.max_connections_per_worker = 0;
        if let Some(booted) = booted {
            settings.app.clone_from(&booted.app);
            settings.site.root.clone_from(&booted.root);
        }
        FrontSettings {
            settings,
            post_limit: booted.map_or(0, |booted| booted.post_limit),
        }
    }

    /// Sends the settings of the new generation to the front.
    pub(super) fn send_settings(&self) {
        if let Some(front) = &self.front.process {
            front.change(self.front_settings());
        }
    }

    // ---- workers of the front ----

    /// Gives the worker to the front, if it serves. A copy of the front channel stays here, for the next front.
    pub(super) fn hand_over(&self, id: WorkerId) {
        let (Some(front), Some(worker)) = (&self.front.process, self.workers.get(&id)) else {
            return;
        };
        let serves = matches!(worker.state(), State::Ready | State::Recycling)
            && self.generations.current == Some(worker.generation);
        let Some(front_channel) = worker.front_channel.as_ref().filter(|_| serves) else {
            return;
        };
        match front_channel.try_clone() {
            Ok(front_channel) => front.give(id, front_channel),
            Err(e) => logging::error!(
                "cannot give a worker to the front: {e} slot={}",
                worker.slot
            ),
        }
    }

    pub(super) fn hand_over_all(&self) {
        self.workers.keys().for_each(|id| self.hand_over(*id));
    }

    /// Stops the front from sending requests to this worker, which leaves when it has answered what it has.
    pub(super) fn retire_from_front(&mut self, id: WorkerId) {
        let front_channel = self
            .workers
            .get_mut(&id)
            .and_then(|worker| worker.front_channel.take());
        if let (Some(front), Some(_)) = (&self.front.process, front_channel) {
            front.retire(id);
        }
    }

    fn close_front_channels(&mut self) {
        self.workers
            .values_mut()
            .for_each(|worker| worker.front_channel = None);
    }

    pub(super) fn front_status(&self) -> Option<FrontStatus> {
        if !self.is_balanced() {
            return None;
        }
        let front = self.front.process.as_ref();
        let snapshot = front.map(Front::snapshot).unwrap_or_default();
        Some(FrontStatus {
            pid: front.map(|front| front.pid),
            state: match front {
                Some(front) if front.is_draining => "draining",
                Some(front) if front.is_ready => "ready",
                _ => "starting",
            }
            .into(),
            uptime_seconds: front.map_or(0.0, |front| front.since.elapsed().as_secs_f64()),
            connections: snapshot.connections(),
            waiting: snapshot.waiting(),
            cpu_seconds: front.map(Front::cpu_seconds).unwrap_or_default(),
            resident_bytes: front.map_or(0, |front| resident(front.pid)),
            restarts: self.front.restarts,
        })
    }
}
