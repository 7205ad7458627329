//! The end: drain, wait, and at last insist.

use std::time::Duration;

use super::{Phase, Server};
use crate::event::{ReplyTo, Timer};
use crate::systemd;
use crate::worker::{WorkerId, list};

/// How much longer than its own deadline a worker may take before it is killed.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);
/// How much longer than ours a worker's deadline is, so that we see what it was doing.
const CUTOFF_MARGIN: Duration = Duration::from_millis(50);

impl Server {
    /// The first time drain; the second time do not wait.
    pub(super) fn stop(&mut self, done: Option<ReplyTo>) {
        let again = self.stopping();
        let by_socket = done.is_some();
        self.stopped.extend(done);
        match again {
            false => self.drain_all(),
            // `hearth stop` twice only waits twice.
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
        systemd::tell(&format!(
            "STOPPING=1\nSTATUS=Stopping: {in_flight} requests in flight"
        ));
        self.phase = Phase::Stopping;
        for done in self.reloads.take_callers() {
            let _ = done.send(Err("the server is stopping".into()));
        }
        if let Some(next) = self.generations.next.take() {
            self.discard(next);
        }
        // Those that leave already, too: now they have less time, and idle connections are not waited for.
        let all: Vec<WorkerId> = self.workers.keys().copied().collect();
        for id in all {
            self.drain(id, false, deadline);
        }
        self.stop_front(deadline);
        // Workers hold copies until they have stopped accepting; ours would keep the port open after that.
        self.sockets = None;
        self.events
            .later(deadline + KILL_GRACE * 2, Timer::StopDeadline);
        self.reap_generations();
    }

    /// Tell a worker to leave, name the requests that are cut off if it comes to that, and insist at last.
    pub(super) fn drain(&mut self, id: WorkerId, linger: bool, deadline: Duration) {
        // When the whole server stops, the front still needs all of them.
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

    /// The deadline of a worker that leaves: after this it cannot be asked any more what it was doing.
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

    /// Workers were killed by now; if anything is left, a zygote hangs.
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

    /// Nothing of any generation is left: the end.
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
