//! Logs when the workers do not keep up.

use std::time::Instant;

use shm::Snapshot;

use super::Server;
use crate::event::Timer;
use crate::front::Front;
use crate::saturation::{Capacity, Counts, Finding, PAUSE, Processors, Saturation};

/// The state of the watch.
#[derive(Debug, Default)]
pub(super) struct Watch {
    saturation: Saturation,
    /// The processors' times when requests began to wait.
    processors: Option<Processors>,
}

impl Server {
    /// Schedules the next check, in a second.
    pub(super) fn schedule_saturation_check(&self) {
        self.events.later(PAUSE, Timer::Saturation);
    }

    pub(super) fn check_saturation(&mut self) {
        if self.stopping() {
            return;
        }
        self.events.later(PAUSE, Timer::Saturation);
        let counts = Counts::of(&self.sum());
        let watch = &mut self.saturation;
        let findings = watch.saturation.check(counts, Instant::now());
        let before = watch.processors;
        watch.processors = match counts.any_waits() {
            true => before.or_else(Processors::now),
            false => None,
        };
        if findings.is_empty() {
            return;
        }
        let idle = before.and_then(|before| Processors::now()?.idle_since(before));
        let capacity = self.capacity(idle);
        // If the number of workers follows the load, it is logged already why there are no more.
        let is_logged = self
            .elastic
            .as_ref()
            .is_some_and(|elastic| elastic.has_just_logged());
        for finding in findings {
            if !(is_logged && matches!(finding, Finding::Waiting { .. })) {
                logging::warning!("{}", capacity.describe(finding));
            }
        }
    }

    fn capacity(&self, idle: Option<f64>) -> Capacity {
        let booted = self
            .generations
            .newest()
            .and_then(|generation| generation.booted.as_ref());
        Capacity {
            workers: self.slots.len() as u32,
            concurrency: booted.map_or(1, |booted| booted.concurrency),
            most: self.elastic.as_ref().map(|elastic| elastic.most()),
            queue: self.settings.queue,
            queue_timeout: self.settings.queue_timeout,
            idle,
        }
    }

    /// The sum of the counters of all processes, those that are gone included.
    pub(super) fn sum(&self) -> Snapshot {
        let mut sum = self.ended_processes.counters.clone();
        let boards = self.workers.values().map(|worker| worker.board.snapshot());
        let front = self.front.process.as_ref().map(Front::snapshot);
        boards.chain(front).for_each(|counted| sum.add(&counted));
        sum
    }
}
