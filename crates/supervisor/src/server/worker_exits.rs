//! The end of workers: cause, counts, and successor.

use std::time::Duration;

use ipc::BootFailure;
use shm::{Counter, Snapshot};

use super::Server;
use crate::signal::{describe, fatal_signal};
use crate::worker::{State, Worker, WorkerId, list};

impl Server {
    pub(super) fn kill_late(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let requests = worker.board.in_flight();
        logging::warning!(
            "killing a worker that has not left in time pid={} slot={} requests=[{}]",
            worker.pid.unwrap_or_default(),
            worker.slot,
            list(&requests)
        );
        worker.kill();
    }

    /// Handles the end of a worker's process. `status` is `None` if its parent died first.
    pub(super) fn worker_ended(&mut self, id: WorkerId, status: Option<i32>) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let (number, state) = (worker.generation, worker.state());
        if let Some(pid) = worker.pid {
            self.shared.budgets.table.reap(pid);
            if let Some(balancing) = &self.balancing {
                balancing.left(worker.slot, pid);
            }
        }
        let ended = status.map_or("ended".into(), describe);
        report(worker, status, &ended);
        self.blame(worker, status);
        let latencies = worker.board.latencies();
        self.ended_processes
            .add(&ended_counters(worker), &latencies);
        let never_served = matches!(state, State::Forking | State::Starting);
        if self.generations.next == Some(number) && never_served {
            self.workers.remove(&id);
            let why = format!("a worker {ended} before it was ready; its output is above");
            return self.abort_generation(number, BootFailure::Failed(why));
        }
        if state != State::Draining {
            self.replace(id);
        }
        self.workers.remove(&id);
        self.pools_left(id);
        self.reap_generations();
    }

    /// Notes the request that was computing when the worker died. A request that killed two workers is quarantined for a
    /// while.
    fn blame(&self, worker: &Worker, status: Option<i32>) {
        let Some(signal) = status
            .and_then(fatal_signal)
            .filter(|_| worker.has_served() && !worker.is_killed())
        else {
            return;
        };
        let Some(request) = worker.board.computing() else {
            return;
        };
        let quarantine = &self.shared.quarantine.table;
        if quarantine.blame(request.suspect, signal.is_sent()) {
            logging::error!(
                "request is refused for 60 s: it has killed two workers method={} route={} hash={:016x} signal={}",
                request.method,
                request.route(),
                request.suspect.fingerprint,
                signal.name()
            );
        }
    }

    /// Starts the successor of a worker that dies or breaks: at once if the worker has begun a request, because then workers
    /// do start; else after a pause, if its predecessors died quickly, too.
    pub(super) fn replace(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let (number, slot) = (worker.generation, worker.slot);
        let has_served = worker.has_served();
        let life = worker.since.elapsed();
        let Some(generation) = self.generations.get_mut(number) else {
            return;
        };
        let place = &mut generation.slots[slot as usize];
        if place.worker != Some(id) {
            return;
        }
        self.restarts[slot as usize] += 1;
        place.worker = None;
        match place.backoff.after(life, has_served) {
            Duration::ZERO => self.fork_if_empty(number, slot),
            pause => {
                logging::error!(
                    "workers keep dying before they serve anything; the next starts in {} ms slot={slot}",
                    pause.as_millis()
                );
                self.fork_later(number, slot, pause);
            }
        }
    }
}

/// The counters of a worker that is gone, settled: its requests have ended, and its connections are closed.
fn ended_counters(worker: &Worker) -> Snapshot {
    let mut snapshot = worker.board.snapshot();
    settle(&mut snapshot);
    snapshot
}

pub(super) fn settle(snapshot: &mut Snapshot) {
    for (begun, ended) in [
        (Counter::Requests, Counter::Finished),
        (Counter::ConnectionsOpened, Counter::ConnectionsClosed),
        (Counter::Tasks, Counter::TasksFinished),
        (Counter::Queued, Counter::Unqueued),
    ] {
        snapshot.settle(begun, ended);
    }
}

/// Logs the end of a worker. An unexpected end is an error, with the requests that it broke off.
fn report(worker: &Worker, status: Option<i32>, ended: &str) {
    let (pid, slot, number) = (
        worker.pid.unwrap_or_default(),
        worker.slot,
        worker.generation,
    );
    let requests = worker.board.in_flight();
    let computing = worker.board.computing();
    let computing = computing.map_or(String::new(), |request| {
        format!(" computing={:016x}", request.id)
    });
    let clean = status == Some(0) || (worker.state() == State::Draining && status.is_none());
    if worker.state() == State::Draining && clean && requests.is_empty() {
        logging::debug!("worker has left pid={pid} slot={slot} generation={number}");
    } else {
        let requests = list(&requests);
        logging::error!(
            "worker {ended} pid={pid} slot={slot} generation={number}{computing} requests=[{requests}]"
        );
    }
}
