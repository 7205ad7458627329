//! The schedule of an open loop: when each request is due, independent of the server's responses.
//!
//! Arrivals are points of a unit-rate process mapped through the integral of the wanted rate, so constant, stepped and
//! ramped rates, evenly spaced or Poisson, share one implementation. Due times are not stored: a late generator finds the
//! next due time in the past.

use crate::clock::Nanos;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// A stretch of time in which the rate changes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Length of the stage; the last stage never ends.
    pub length: Duration,
    /// Requests per second at the beginning of the stage.
    pub from: f64,
    /// Requests per second at the end of the stage.
    pub to: f64,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// At even intervals.
    Constant,
    /// Independently of each other, like visitors (a Poisson process).
    Poisson,
}

/// The arrivals of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    stages: Vec<Stage>,
    spacing: Spacing,
    rng: SmallRng,
    /// Number of threads that share the schedule.
    threads: f64,
    /// The next arrival, as a count of arrivals of all threads since the beginning.
    unit: f64,
    /// The stage of the next arrival, with that stage's start in seconds and in arrivals.
    stage: usize,
    stage_seconds: f64,
    stage_units: f64,
    origin: Nanos,
    due: Nanos,
    left: u64,
}

impl Schedule {
    /// Returns the part of thread `thread` of `threads`; `limit` is the thread's own number of requests.
    pub(crate) fn new(
        stages: &[Stage],
        spacing: Spacing,
        seed: u64,
        thread: usize,
        threads: usize,
        limit: u64,
    ) -> Self {
        let mut schedule = Self {
            stages: stages.to_vec(),
            spacing,
            rng: SmallRng::seed_from_u64(
                seed.wrapping_mul(0x9e37_79b9).wrapping_add(thread as u64),
            ),
            threads: threads as f64,
            unit: 0.0,
            stage: 0,
            stage_seconds: 0.0,
            stage_units: 0.0,
            origin: 0,
            due: 0,
            left: limit,
        };
        schedule.unit = match spacing {
            Spacing::Constant => thread as f64,
            Spacing::Poisson => schedule.gap(),
        };
        schedule.due = schedule.due_at();
        schedule
    }

    /// Moves the beginning of the schedule to `origin`.
    pub(crate) fn start_at(&mut self, origin: Nanos) {
        self.due = self.due - self.origin + origin;
        self.origin = origin;
    }

    /// Returns when the next request is due; `None` if there is none left.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Nanos> {
        (self.left > 0).then_some(self.due)
    }

    /// Advances to the next request.
    pub(crate) fn advance(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.unit += match self.spacing {
            Spacing::Constant => self.threads,
            Spacing::Poisson => self.gap(),
        };
        self.due = self.due_at();
    }

    /// Consumes the requests due before `time` and calls `each` with each due time.
    pub(crate) fn drain_before(&mut self, time: Nanos, mut each: impl FnMut(Nanos)) {
        while let Some(due) = self.peek().filter(|due| *due < time) {
            each(due);
            self.advance();
        }
    }

    fn gap(&mut self) -> f64 {
        -(1.0 - self.rng.random::<f64>()).ln() * self.threads
    }

    fn due_at(&mut self) -> Nanos {
        while self.stage + 1 < self.stages.len() {
            let stage = self.stages[self.stage];
            let units = stage.units();
            if self.unit < self.stage_units + units {
                break;
            }
            self.stage_units += units;
            self.stage_seconds += stage.length.as_secs_f64();
            self.stage += 1;
        }
        let stage = self.stages[self.stage];
        let last = self.stage + 1 == self.stages.len();
        let seconds = self.stage_seconds + stage.seconds_to(self.unit - self.stage_units, last);
        if seconds.is_finite() {
            self.origin + (seconds * 1e9) as u64
        } else {
            u64::MAX
        }
    }
}

impl Stage {
    /// Returns the number of arrivals in the stage.
    fn units(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.length.as_secs_f64()
    }

    /// Returns the seconds into the stage at which the integral of the rate reaches `units`.
    fn seconds_to(&self, units: f64, endless: bool) -> f64 {
        let length = self.length.as_secs_f64();
        if units <= 0.0 {
            return 0.0;
        }
        if endless && units > self.units() {
            return length + (units - self.units()) / self.to;
        }
        let slope = if length > 0.0 {
            (self.to - self.from) / length
        } else {
            0.0
        };
        if slope.abs() < 1e-12 {
            return units / self.from;
        }
        // units = from·t + slope·t²/2, solved in the form without cancellation
        let root = (self.from * self.from + 2.0 * slope * units)
            .max(0.0)
            .sqrt();
        2.0 * units / (self.from + root)
    }
}

#[cfg(test)]
mod tests;
