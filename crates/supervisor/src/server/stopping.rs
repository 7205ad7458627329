//! Graceful shutdown: drain, wait, and at last kill.

use std::time::Duration;

use super::{Phase, Server};
use crate::event::{ReplyTo, Timer};
use crate::systemd;
use crate::worker::{WorkerId, list};

/// How much longer than its own deadline a worker may take before it is killed.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);
/// How much later than the supervisor's the deadline of a worker is, so that the supervisor sees which requests ran.
const CUTOFF_MARGIN: Duration = Duration::from_millis(50);

impl Server {
    /// Drains at the first call; the second one kills.
    pub(super) fn stop(&mut self, done: Option<ReplyTo>) {
        let again = self.stopping();
        let by_socket = done.is_some();
        self.stopped.extend(done);
        match again {
            false => self.drain_all(),
            // A second `hearth stop` only waits, too.
            true if by_socket => {}
            true => self.kill_all(),
        }
    }

    fn drain_all(&mut self) {
        let deadline = self.settings.stop_timeout;
        let in_flight: u64 = self
            .workers
            .values()
            .map(|worker| worker.board.snapshot().in_flight())
            .sum();
        logging::info!(
            "stopping in_flight={in_flight} deadline={}s",
            deadline.as_secs_f64()
        );
        systemd::notify(&format!(
            "STOPPING=1\nSTATUS=Stopping: {in_flight} requests in flight"
        ));
        self.phase = Phase::Stopping;
        for done in self.reloads.take_callers() {
            let _ = done.send(Err("the server is stopping".into()));
        }
        if let Some(next) = self.generations.next.take() {
            self.discard(next);
        }
        // Includes workers that leave already: they have less time now, and their idle connections are closed.
        let all: Vec<WorkerId> = self.workers.keys().copied().collect();
        for id in all {
            self.drain(id, false, deadline);
        }
        self.stop_front(deadline);
        // Workers keep copies until they have stopped accepting. The supervisor's would keep the port open after that.
        self.sockets = None;
        self.events
            .later(deadline + KILL_GRACE * 2, Timer::StopDeadline);
        self.reap_generations();
    }

    /// Tells a worker to leave, logs the requests that are cut off at the deadline, and kills it at last.
    pub(super) fn drain(&mut self, id: WorkerId, linger: bool, deadline: Duration) {
        // When the whole server stops, the front still needs its workers.
        if !self.stopping() {
            self.retire_from_front(id);
        }
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.drain(linger, deadline + CUTOFF_MARGIN);
        self.events.later(deadline, Timer::CutOff(id));
        self.events.later(deadline + KILL_GRACE, Timer::Kill(id));
    }

    /// Logs a leaving worker's requests at the deadline. After that the worker cuts them off.
    pub(super) fn cut_off(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let requests = worker.board.in_flight();
        if !requests.is_empty() {
            let (pid, requests) = (worker.pid.unwrap_or_default(), list(&requests));
            logging::warning!(
                "requests are cut off: time to finish is over pid={pid} requests=[{requests}]"
            );
        }
    }

    /// Kills everything. Workers were killed before, so only a zygote that hangs can be left.
    pub(super) fn stop_deadline(&mut self) {
        self.kill_all();
    }

    fn kill_all(&mut self) {
        logging::warning!("not waiting any longer workers={}", self.workers.len());
        for worker in self.workers.values() {
            worker.kill();
        }
        if let Some(front) = &self.front.process {
            front.kill();
        }
        for generation in self.generations.all() {
            if let Some(zygote) = &generation.zygote {
                zygote.kill_group();
            }
        }
    }

    /// Ends the server when no process of any generation is left.
    pub(super) fn finish_if_empty(&mut self) {
        if !self.stopping()
            || !self.generations.is_empty()
            || self.front.process.is_some()
            || self.ended.is_some()
        {
            return;
        }
        if let Some(failure) = self.failure.take() {
            return self.end(Err(failure));
        }
        logging::info!("stopped");
        for done in self.stopped.drain(..) {
            let _ = done.send(Ok("stopped".into()));
        }
        self.end(Ok(()));
    }
}
