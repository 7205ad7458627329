//! Phases, budget and messages between the coordinating thread and the client threads.

use crate::clock::{Clock, Nanos};
use crate::record::{Slice, Tally};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// The phase of a run, as ordered to all client threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Send load, but count it as warm-up.
    Warm,
    /// Send load and measure it.
    Measure,
    /// Start no more requests; wait for those in flight.
    Drain,
    /// End the run at once.
    Abort,
}

/// The state of a run that all its threads share: clock, phase and request budget.
#[derive(Debug)]
pub(crate) struct Control {
    /// The run's clock.
    pub(crate) clock: Clock,
    phase: AtomicU8,
    measure_from: AtomicU64,
    budget: Option<AtomicU64>,
    /// Start barrier: no thread starts before all are running, because creating threads takes long on a busy machine.
    pub(crate) gate: Barrier,
}

/// A message from a client thread to the coordinating thread.
#[derive(Debug)]
pub(crate) enum Message {
    /// The counts of one slice, a tenth of a second.
    Slice(Box<Slice>),
    /// The thread has ended.
    Done(Box<ThreadResult>),
}

/// The result of a client thread, sent at its end.
#[derive(Debug)]
pub(crate) struct ThreadResult {
    pub(crate) tally: Tally,
    /// Responses per slot.
    pub(crate) answered: Vec<u64>,
    /// Longest wait for one response per slot.
    pub(crate) longest: Vec<Nanos>,
    /// Time that the thread ran on a processor.
    pub(crate) cpu: Duration,
    /// Time that the thread was ready to run but waited for a processor.
    pub(crate) waited: Duration,
    /// Length of the thread's measurement.
    pub(crate) elapsed: Nanos,
    /// Error that kept the thread from working.
    pub(crate) error: Option<String>,
}

impl Control {
    pub(crate) fn new(phase: Phase, requests: Option<u64>, threads: usize) -> Self {
        Self {
            clock: Clock::start(),
            phase: AtomicU8::new(phase as u8),
            measure_from: AtomicU64::new(0),
            budget: requests.map(AtomicU64::new),
            gate: Barrier::new(threads + 1),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Warm,
            1 => Phase::Measure,
            2 => Phase::Drain,
            _ => Phase::Abort,
        }
    }

    /// Advances to a later phase; an earlier one has no effect.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
    }

    /// Begins the measurement at `from`.
    pub(crate) fn begin_measure(&self, from: Nanos) {
        self.measure_from.store(from, Ordering::Release);
        self.advance(Phase::Measure);
    }

    /// Returns when the measurement begins.
    pub(crate) fn measure_from(&self) -> Nanos {
        self.measure_from.load(Ordering::Acquire)
    }

    /// Takes up to `wanted` requests from the common budget.
    pub(crate) fn claim(&self, wanted: u64) -> u64 {
        let Some(budget) = &self.budget else {
            return u64::MAX;
        };
        let before = budget.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            Some(left.saturating_sub(wanted))
        });
        before.map_or(0, |left| left.min(wanted))
    }
}
