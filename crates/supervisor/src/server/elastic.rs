//! The elastic number of workers: as many as needed, between `workers.min` and `workers.max`.
//!
//! The front reports when more workers would help; a worker that has been idle for a while leaves.

use std::time::{Duration, Instant};

use config::{MOST_WORKERS, Workers};
use shm::Counter;

use super::Server;
use crate::event::Timer;
use crate::memory::{Memory, proportional};
use crate::status::ElasticStatus;
use crate::worker::{State, WorkerId};

/// The number of checks for idle workers within `idle_timeout`.
const CHECKS: u32 = 10;
/// The least pause between two checks.
const LEAST_PAUSE: Duration = Duration::from_millis(10);
/// The least pause between two log lines that there can be no more workers.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// How long a measured cost of a worker is reused.
const COST_HOLDS: Duration = Duration::from_secs(5);

/// The limits, the counts and the measured cost.
#[derive(Debug)]
pub(super) struct Elastic {
    least: u32,
    /// `None` if memory is the limit.
    most: Option<u32>,
    added: u64,
    retired: u64,
    /// The cost of a worker in bytes, and when it was measured.
    cost: Option<(u64, Instant)>,
    last_logged: Option<Instant>,
}

impl Elastic {
    /// Returns `None` for a fixed number of workers.
    pub(super) fn of(workers: Workers) -> Option<Elastic> {
        let Workers::Between { least, most } = workers else {
            return None;
        };
        Some(Elastic {
            least,
            most,
            added: 0,
            retired: 0,
            cost: None,
            last_logged: None,
        })
    }

    /// The most workers; `None` if memory is the limit.
    pub(super) fn most(&self) -> Option<u32> {
        self.most
    }

    /// Whether it was just logged that there can be no more workers.
    pub(super) fn has_just_logged(&self) -> bool {
        self.last_logged
            .is_some_and(|last| last.elapsed() < LOG_INTERVAL)
    }

    /// Logs that there can be no more workers, not too often.
    fn log_limit(&mut self, why: &str) {
        if self
            .last_logged
            .is_none_or(|last| last.elapsed() >= LOG_INTERVAL)
        {
            self.last_logged = Some(Instant::now());
            logging::warning!("requests wait, and no worker can be added: {why}");
        }
    }
}

impl Server {
    /// Adds workers up to `wanted`: no worker is idle, but processors are. `waiting` tells whether requests wait already.
    pub(super) fn grow(&mut self, wanted: u32, waiting: bool) {
        let Some(number) = self
            .generations
            .current
            .filter(|number| self.can_fork(*number))
        else {
            return;
        };
        if self.elastic.is_none() || self.generations.next.is_some() || self.stopping() {
            return;
        }
        while (self.slots.len() as u32) < wanted {
            if let Some(why) = self.why_no_more() {
                if let Some(elastic) = self.elastic.as_mut().filter(|_| waiting) {
                    elastic.log_limit(&why);
                }
                return;
            }
            self.add_slot(number);
        }
    }

    fn add_slot(&mut self, number: u32) {
        let Some(slot) = (0..MOST_WORKERS).find(|slot| !self.slots.contains(slot)) else {
            return;
        };
        self.slots.insert(slot);
        if let Some(elastic) = &mut self.elastic {
            elastic.added += 1;
        }
        self.make_room_for_slots();
        logging::debug!(
            "added a worker slot={slot} generation={number} workers={}",
            self.slots.len()
        );
        self.fork_if_empty(number, slot);
    }

    /// Extends the vectors that are indexed by slot.
    pub(super) fn make_room_for_slots(&mut self) {
        let Some(last) = self.slots.last() else {
            return;
        };
        let length = *last as usize + 1;
        if self.restarts.len() < length {
            self.restarts.resize(length, 0);
        }
        for generation in self.generations.all_mut() {
            if generation.slots.len() < length {
                generation.slots.resize(length, Default::default());
            }
        }
    }

    fn why_no_more(&mut self) -> Option<String> {
        let workers = self.slots.len() as u32;
        let most = self.elastic.as_ref()?.most;
        if workers >= most.unwrap_or(MOST_WORKERS) {
            return Some(format!("workers.max = {workers}"));
        }
        if most.is_some() {
            return None;
        }
        let (memory, cost) = (Memory::now()?, self.cost()?);
        (!memory.has_room(cost)).then(|| {
            format!(
                "{} MB of memory are available, of {} MB, and a worker costs {:.1} MB",
                memory.available >> 20,
                memory.total >> 20,
                cost as f64 / 1e6
            )
        })
    }

    /// The cost of a worker: that of the oldest one, measured not too often because the kernel takes a while for it.
    fn cost(&mut self) -> Option<u64> {
        let known = self.elastic.as_ref()?.cost;
        if let Some((cost, _)) = known.filter(|(_, at)| at.elapsed() < COST_HOLDS) {
            return Some(cost);
        }
        let ready = self
            .workers
            .values()
            .filter(|worker| worker.state() == State::Ready);
        let oldest = ready.min_by_key(|worker| worker.since)?;
        let cost = proportional(oldest.pid?)?;
        self.elastic.as_mut()?.cost = Some((cost, Instant::now()));
        Some(cost)
    }

    // ---- fewer ----

    /// Schedules the next check for idle workers.
    pub(super) fn watch_idle(&self) {
        if self.elastic.is_some() {
            let pause = (self.settings.idle_timeout / CHECKS).max(LEAST_PAUSE);
            self.events.later(pause, Timer::Idle);
        }
    }

    /// Retires workers that have been idle for long enough.
    pub(super) fn retire_idle(&mut self) {
        if self.stopping() {
            return;
        }
        self.watch_idle();
        let (Some(number), None) = (self.generations.current, self.generations.next) else {
            return;
        };
        let timeout = self.settings.idle_timeout;
        let concurrency = self.concurrency(number);
        let mut idle: Vec<(Duration, WorkerId, u32)> = Vec::new();
        // One worker that can take a request stays, else the front would ask for another.
        let mut able = 0usize;
        for (id, worker) in &mut self.workers {
            let is_one = worker.generation == number && worker.state() == State::Ready;
            let counters = worker.board.snapshot();
            let (begun, in_flight) = (counters.get(Counter::Requests), counters.in_flight());
            let time = worker.idle_for(begun, in_flight);
            able += usize::from(is_one && in_flight < u64::from(concurrency));
            if is_one && time >= timeout {
                idle.push((time, *id, worker.slot));
            }
        }
        idle.sort_unstable_by(|a, b| b.cmp(a));
        let least = self.elastic.as_ref().map_or(u32::MAX, |e| e.least) as usize;
        let most = self.slots.len().saturating_sub(least);
        let most = most.min(able.saturating_sub(1));
        for (_, id, slot) in idle.into_iter().take(most) {
            self.retire(number, id, slot);
        }
    }

    fn retire(&mut self, number: u32, id: WorkerId, slot: u32) {
        self.slots.remove(&slot);
        if let Some(elastic) = &mut self.elastic {
            elastic.retired += 1;
        }
        if let Some(generation) = self.generations.get_mut(number) {
            generation.slots[slot as usize].worker = None;
        }
        logging::debug!(
            "an idle worker leaves slot={slot} generation={number} workers={}",
            self.slots.len()
        );
        let deadline = self.settings.reload_timeout;
        self.drain(id, true, deadline);
    }

    pub(super) fn elastic_status(&self) -> Option<ElasticStatus> {
        let elastic = self.elastic.as_ref()?;
        Some(ElasticStatus {
            min: elastic.least,
            max: elastic.most,
            added: elastic.added,
            retired: elastic.retired,
            worker_bytes: elastic.cost.map(|(cost, _)| cost),
        })
    }
}
