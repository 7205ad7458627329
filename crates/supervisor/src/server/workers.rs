//! Messages of workers: ready, wants a successor, leaves, cannot boot.

use ipc::BootFailure;

use super::Server;
use super::stopping::KILL_GRACE;
use crate::event::Timer;
use crate::worker::{State, Worker, WorkerId};

impl Server {
    pub(super) fn ready(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        let (number, slot, took) = (worker.generation, worker.slot, worker.since.elapsed());
        let pid = worker.pid.unwrap_or_default();
        if !worker.advance(State::Ready) {
            return;
        }
        logging::debug!(
            "ready worker pid={pid} slot={slot} generation={number} ms={:.1}",
            took.as_secs_f64() * 1e3
        );
        self.hand_over(id);
        self.drain_recycled(number, slot);
        self.promote(number);
    }

    /// Replaces a worker that has served enough, or was broken by a fatal error in PHP: the successor starts, and the worker
    /// serves until the successor does.
    pub(super) fn wants_recycle(&mut self, id: WorkerId, reason: &str, broken: bool) {
        let Some(worker) = self
            .workers
            .get_mut(&id)
            .filter(|worker| worker.state() == State::Ready)
        else {
            return;
        };
        worker.advance(State::Recycling);
        let (number, slot, pid) = (
            worker.generation,
            worker.slot,
            worker.pid.unwrap_or_default(),
        );
        if broken {
            logging::warning!(
                "worker is replaced: {reason} pid={pid} slot={slot} generation={number}"
            );
            return self.replace(id);
        }
        logging::info!("worker is replaced: {reason} pid={pid} slot={slot} generation={number}");
        self.recycled += 1;
        let place = self
            .generations
            .get_mut(number)
            .map(|g| &mut g.slots[slot as usize].worker);
        if let Some(place) = place.filter(|place| **place == Some(id)) {
            *place = None;
            self.fork_if_empty(number, slot);
        }
    }

    /// Drains the worker in this slot that has waited for its successor.
    fn drain_recycled(&mut self, number: u32, slot: u32) {
        let deadline = self.settings.reload_timeout;
        let wants_recycle = |worker: &Worker| {
            worker.state() == State::Recycling && worker.generation == number && worker.slot == slot
        };
        let recycled: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| wants_recycle(worker))
            .map(|(id, _)| *id)
            .collect();
        for id in recycled {
            self.drain(id, true, deadline);
        }
    }

    /// Handles a worker that leaves by itself: the successor starts while the worker finishes its requests.
    pub(super) fn draining(&mut self, id: WorkerId, reason: &str) {
        let deadline = self.settings.reload_timeout;
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        if !worker.advance(State::Draining) {
            return;
        }
        let pid = worker.pid.unwrap_or_default();
        logging::warning!(
            "worker leaves: {reason} pid={pid} slot={} generation={}",
            worker.slot,
            worker.generation
        );
        self.drain(id, true, deadline);
        self.replace(id);
    }

    /// Handles a worker that could not boot the app; in a cold generation every worker boots it.
    pub(super) fn failed(&mut self, id: WorkerId, message: String) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        if self.generations.next == Some(worker.generation) {
            self.abort_generation(worker.generation, BootFailure::Failed(message));
        } else {
            let pid = worker.pid.unwrap_or_default();
            logging::error!(
                "worker cannot boot the app: {message} pid={pid} slot={}",
                worker.slot
            );
        }
    }

    /// Handles the end of a worker's channel. The worker is ending; if it is not, no message reaches it any more.
    pub(super) fn worker_closed(&mut self, id: WorkerId, mistake: Option<String>) {
        if let Some(mistake) = mistake {
            logging::alert!("invalid message from a worker: {mistake}");
        }
        self.events.later(KILL_GRACE, Timer::Kill(id));
        if let Some(status) = self.workers.get_mut(&id).and_then(|it| it.exit.close()) {
            self.worker_ended(id, Some(status));
        }
    }
}
