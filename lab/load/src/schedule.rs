//! The plan of an open loop: when each request is due, whatever the server does.
//!
//! Arrivals are points of a unit-rate process mapped through the integral of the wanted rate, so
//! constant, stepped and ramped rates, evenly spaced or Poisson, are one piece of code. Nothing is
//! stored: a late generator simply finds the next due time in the past.

use crate::clock::Nanos;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// A stretch of time in which the rate goes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// How long it lasts; the last stage goes on for ever.
    pub length: Duration,
    /// Requests per second at its beginning.
    pub from: f64,
    /// Requests per second at its end.
    pub to: f64,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    Constant,
    /// Independently of each other, as visitors come.
    Poisson,
}

/// The arrivals that one thread is responsible for.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    stages: Vec<Stage>,
    spacing: Spacing,
    rng: SmallRng,
    /// Of all threads.
    threads: f64,
    /// Next arrival as a count of arrivals since the beginning, all threads.
    unit: f64,
    /// Stage in which it falls, that stage's start in seconds and in arrivals.
    stage: usize,
    stage_seconds: f64,
    stage_units: f64,
    origin: Nanos,
    due: Nanos,
    left: u64,
}

impl Schedule {
    /// The part of thread `thread` of `threads`; `limit` is its own number of requests.
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

    /// Moves the beginning to `origin`.
    pub(crate) fn start_at(&mut self, origin: Nanos) {
        self.due = self.due - self.origin + origin;
        self.origin = origin;
    }

    /// When the next request is due; `None` if there is none left.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Nanos> {
        (self.left > 0).then_some(self.due)
    }

    /// Goes on to the one after.
    pub(crate) fn advance(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.unit += match self.spacing {
            Spacing::Constant => self.threads,
            Spacing::Poisson => self.gap(),
        };
        self.due = self.due_at();
    }

    /// Consumes the requests due before `time`; each due time is told to `each`.
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
    /// Arrivals in it.
    fn units(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.length.as_secs_f64()
    }

    /// Seconds into the stage at which the integral of the rate reaches `units`.
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
        // units = from·t + slope·t²/2, in the form that does not cancel
        let root = (self.from * self.from + 2.0 * slope * units)
            .max(0.0)
            .sqrt();
        2.0 * units / (self.from + root)
    }
}

#[cfg(test)]
mod tests;
