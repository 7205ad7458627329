//! What the coordinating thread and the client threads say to each other.

use crate::clock::{Clock, Nanos};
use crate::record::{Slice, Tally};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// What a thread should be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Load, but count it as warm-up.
    Warm,
    /// Measure.
    Measure,
    /// Start nothing more, wait for what is in flight.
    Drain,
    /// Stop at once.
    Abort,
}

/// Orders for all threads of a run.
#[derive(Debug)]
pub(crate) struct Control {
    /// The run's clock.
    pub(crate) clock: Clock,
    phase: AtomicU8,
    measure_from: AtomicU64,
    budget: Option<AtomicU64>,
    /// No thread starts before all run: making threads takes long on a busy machine.
    pub(crate) gate: Barrier,
}

/// What a thread reports.
#[derive(Debug)]
pub(crate) enum Message {
    /// A tenth of a second is over; the number of requests in flight.
    Slice(Box<Slice>),
    /// The thread is done.
    Done(Box<ThreadResult>),
}

/// What a thread hands over at its end.
#[derive(Debug)]
pub(crate) struct ThreadResult {
    pub(crate) tally: Tally,
    /// Answers per slot.
    pub(crate) answered: Vec<u64>,
    /// Longest wait for one answer per slot.
    pub(crate) longest: Vec<Nanos>,
    /// Time it ran on a processor.
    pub(crate) cpu: Duration,
    /// Time it was ready but did not run.
    pub(crate) waited: Duration,
    /// Length of its measurement.
    pub(crate) elapsed: Nanos,
    /// Why it could not work at all.
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

    /// Goes on to a later phase; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
    }

    /// Begins the measurement at `from`.
    pub(crate) fn begin_measure(&self, from: Nanos) {
        self.measure_from.store(from, Ordering::Release);
        self.advance(Phase::Measure);
    }

    /// When the measurement begins.
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
