//! The state of the server at one moment, for `hearth status` and the metrics.

use shm::{Counter, Latencies};

use super::shared::SharedCache;
use super::{Phase, Server};
use crate::latency;
use crate::pool::Pools;
use crate::status::{Status, WorkerStatus, totals};
use crate::worker::{State, Worker};

impl Server {
    pub(super) fn status(&self) -> Status {
        let newest = self.generations.newest();
        let booted = newest.and_then(|generation| generation.booted.as_ref());
        let workers = self.workers.values();
        let workers = workers.map(|worker| self.worker_status(worker)).collect();
        let number = self.generations.newest_number().unwrap_or_default();
        let filled = self.served_slots(number);
        let front = self.front_status();
        let reachable = front.as_ref().is_none_or(|front| front.state == "ready");
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            app: self.settings.app.display().to_string(),
            listen: self.addresses.clone(),
            state: self.state_name().into(),
            healthy: filled == self.slots.len() && reachable && !self.stopping(),
            ready: filled > 0 && reachable && !self.stopping() && self.phase != Phase::Starting,
            uptime_seconds: self.started.elapsed().as_secs_f64(),
            generation: number,
            php: booted.map(|booted| booted.php.clone()).unwrap_or_default(),
            cold: booted.and_then(|booted| booted.cold.clone()),
            preload: newest.and_then(|generation| generation.preload.clone()),
            slots: self.slots.len() as u32,
            elastic: self.elastic_status(),
            reloads: self.reloads.done,
            restarts: self.restarts.iter().sum(),
            recycled: self.recycled,
            totals: totals(&self.sum()),
            latencies: latency::all(&self.latencies(), &self.settings.metrics_routes),
            front,
            workers,
            cache: self.shared.cache.as_ref().map(SharedCache::figures),
            redis: self.redis_status(),
            pools: Pools::default(),
        }
    }

    fn latencies(&self) -> Latencies {
        let mut sum = self.ended_processes.latencies.clone();
        let workers = self.workers.values();
        workers.for_each(|worker| sum.add(&worker.board.latencies()));
        if let Some(front) = &self.front.process {
            sum.add(&front.latencies());
        }
        sum
    }

    fn redis_status(&self) -> Option<tier::Status> {
        let cache = self.shared.cache.as_ref()?;
        cache.tier.as_ref().map(|second| second.tier.status())
    }

    fn worker_status(&self, worker: &Worker) -> WorkerStatus {
        let snapshot = worker.board.snapshot();
        WorkerStatus {
            pid: worker.pid,
            slot: worker.slot,
            generation: worker.generation,
            state: worker.state(),
            uptime_seconds: worker.since.elapsed().as_secs_f64(),
            requests: snapshot.get(Counter::Requests),
            in_flight: snapshot.in_flight(),
            connections: snapshot.connections(),
            resident_bytes: worker.resident(),
            restarts: self.restarts[worker.slot as usize],
        }
    }

    fn served_slots(&self, number: u32) -> usize {
        let slots = self.slots.iter();
        slots.filter(|slot| self.is_served(number, **slot)).count()
    }

    /// Whether a worker of this generation serves in this slot: its own, or the one that it replaces.
    pub(super) fn is_served(&self, number: u32, slot: u32) -> bool {
        self.workers.values().any(|worker| {
            worker.generation == number
                && worker.slot == slot
                && matches!(worker.state(), State::Ready | State::Recycling)
        })
    }

    fn state_name(&self) -> &'static str {
        match (self.phase, self.generations.next) {
            (Phase::Starting, _) => "starting",
            (Phase::Running, None) => "running",
            (Phase::Running, Some(_)) => "reloading",
            (Phase::Stopping, _) => "stopping",
        }
    }
}
