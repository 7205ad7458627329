//! The workers as the dispatcher knows them: which there are, what they do, and which is woken next.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::Dispatcher;
use crate::layout::{
    ASLEEP, AT_COMPLETIONS, AT_FRONT, AWAKE, CONSUMER_CAPACITY, CONSUMER_CLAIMS, CONSUMER_CLOSED,
    CONSUMER_RUNS, CONSUMER_SIGNALS, CONSUMER_SINCE, MAX_WORKERS, SLOTS,
};
use crate::memory::now;

/// Nanoseconds without a claim after which a worker that was woken, or has just been added, counts as busy with something
/// else: requests of another thread of the front, or of the previous front.
const CLAIMS_WITHIN: u64 = 10_000_000;

/// The state of a consumer, as the dispatcher knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsumerState {
    Free,
    /// A worker has the consumer: when it was added, when it was last woken (0: never), both in nanoseconds, and how many
    /// requests it had claimed before that wake-up.
    Taken {
        came: u64,
        woken: u64,
        claims: u64,
    },
    /// The worker gets no more requests.
    Closed,
}

/// The number of workers, by what they do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Workers that take requests.
    pub workers: usize,
    /// Workers that are about to claim a request: they were just added or woken.
    pub claiming: usize,
    /// Workers that compute or are about to, including those that take no more requests.
    pub computing: usize,
}

impl Dispatcher {
    /// Takes a free consumer for a new worker; `None` if there is none.
    pub fn add_consumer(&self) -> Option<u16> {
        let mut consumers = self.consumers.borrow_mut();
        let taken = ConsumerState::Taken {
            came: now(),
            woken: 0,
            claims: 0,
        };
        let free = consumers
            .iter()
            .position(|state| *state == ConsumerState::Free);
        let at = free.unwrap_or(consumers.len());
        if at == MAX_WORKERS {
            return None;
        }
        if at == consumers.len() {
            consumers.push(taken);
        } else {
            consumers[at] = taken;
        }
        let consumer = u16::try_from(at).ok()?;
        for at in [
            CONSUMER_CLOSED,
            CONSUMER_CLAIMS,
            CONSUMER_SINCE,
            CONSUMER_CAPACITY,
            CONSUMER_SIGNALS,
            CONSUMER_RUNS,
        ] {
            self.memory.consumer(consumer, at).store(0, SeqCst);
        }
        Some(consumer)
    }

    /// Gives the consumer's worker no more requests; the worker keeps those that it has claimed.
    pub fn close(&self, consumer: u16) {
        self.memory
            .consumer(consumer, CONSUMER_CLOSED)
            .store(1, SeqCst);
        let (word, bit) = self.memory.sleeping(consumer);
        word.fetch_and(!bit, SeqCst);
        self.consumers.borrow_mut()[usize::from(consumer)] = ConsumerState::Closed;
    }

    /// Frees the consumer of a worker that has exited.
    pub fn remove_consumer(&self, consumer: u16) {
        self.close(consumer);
        self.consumers.borrow_mut()[usize::from(consumer)] = ConsumerState::Free;
    }

    fn is_asleep(&self, consumer: usize) -> bool {
        let (word, bit) = self.memory.sleeping(consumer as u16);
        word.load(SeqCst) & bit != 0
    }

    /// Whether a worker sleeps: it has nothing to do, or room for another request.
    pub fn has_idle(&self) -> bool {
        let consumers = 0..self.consumers.borrow().len();
        consumers.step_by(64).any(|consumer| {
            let (word, _) = self.memory.sleeping(consumer as u16);
            word.load(SeqCst) != 0
        })
    }

    /// Returns how many requests can begin at once: the room of workers that sleep, and of those that were woken and have
    /// not claimed yet.
    pub fn idle_capacity(&self) -> usize {
        let consumers = self.consumers.borrow();
        let idle = consumers
            .iter()
            .enumerate()
            .filter(|(consumer, state)| match state {
                ConsumerState::Taken { woken, claims, .. } => {
                    self.is_asleep(*consumer) || *woken != 0 && self.claims(*consumer) == *claims
                }
                _ => false,
            });
        idle.map(|(consumer, _)| self.capacity_of(consumer)).sum()
    }

    fn capacity_of(&self, consumer: usize) -> usize {
        let room = self
            .memory
            .consumer(consumer as u16, CONSUMER_CAPACITY)
            .load(Relaxed);
        usize::try_from(room).unwrap_or(usize::MAX).min(SLOTS)
    }

    fn claims(&self, consumer: usize) -> u64 {
        self.memory
            .consumer(consumer as u16, CONSUMER_CLAIMS)
            .load(SeqCst)
    }

    /// Returns how many workers that do not sleep have claimed a request, or were woken, less than `within` nanoseconds ago;
    /// and how many workers sleep.
    pub fn active(&self, within: u64) -> (usize, usize) {
        let (mut active, mut asleep, now) = (0, 0, now());
        for (consumer, state) in self.consumers.borrow().iter().enumerate() {
            let ConsumerState::Taken { woken, .. } = state else {
                continue;
            };
            let since = self
                .memory
                .consumer(consumer as u16, CONSUMER_SINCE)
                .load(Relaxed);
            if self.is_asleep(consumer) {
                asleep += 1;
            } else if now.saturating_sub(since.max(*woken)) < within {
                active += 1;
            }
        }
        (active, asleep)
    }

    /// Returns what all workers do.
    pub fn worker_counts(&self) -> WorkerCounts {
        let (mut counts, now) = (WorkerCounts::default(), now());
        for (consumer, state) in self.consumers.borrow().iter().enumerate() {
            let runs = self
                .memory
                .consumer(consumer as u16, CONSUMER_RUNS)
                .load(Relaxed);
            let is_about_to_claim = match state {
                ConsumerState::Free => continue,
                ConsumerState::Closed => false,
                ConsumerState::Taken {
                    came,
                    woken,
                    claims,
                } => {
                    counts.workers += 1;
                    self.claims(consumer) == *claims
                        && now.saturating_sub(*woken.max(came)) < CLAIMS_WITHIN
                        && !self.is_asleep(consumer)
                }
            };
            counts.claiming += usize::from(is_about_to_claim);
            counts.computing += usize::from(is_about_to_claim || runs != 0);
        }
        counts
    }

    /// Chooses a sleeping worker, which the caller wakes now: the one with the most room for requests, because a request
    /// that computes delays all others of its worker; among equals the first, so that few workers stay warm.
    pub fn wake(&self) -> Option<u16> {
        loop {
            let consumer = self.least_loaded()?;
            let (word, bit) = self.memory.sleeping(consumer);
            if word.fetch_and(!bit, SeqCst) & bit == 0 {
                // The worker woke by itself meanwhile.
                continue;
            }
            let before = self.claims(usize::from(consumer));
            if let ConsumerState::Taken { woken, claims, .. } =
                &mut self.consumers.borrow_mut()[usize::from(consumer)]
            {
                (*woken, *claims) = (now(), before);
            }
            return Some(consumer);
        }
    }

    fn least_loaded(&self) -> Option<u16> {
        let consumers = self.consumers.borrow();
        let asleep = (0..consumers.len()).rev().filter(|consumer| {
            matches!(consumers[*consumer], ConsumerState::Taken { .. }) && self.is_asleep(*consumer)
        });
        // `max_by_key` returns the last of equals: by the reversed order, the first consumer.
        let consumer = asleep.max_by_key(|consumer| self.capacity_of(*consumer))?;
        u16::try_from(consumer).ok()
    }

    // ---- sleep ----

    /// Announces that the front sleeps; returns false if there are completions to drain instead.
    pub fn sleep(&self) -> bool {
        let front = self.memory.word(AT_FRONT);
        front.store(ASLEEP, SeqCst);
        let quiet = self.memory.word(AT_COMPLETIONS).load(SeqCst) == 0;
        if !quiet {
            front.store(AWAKE, SeqCst);
        }
        quiet
    }

    /// Marks the front as awake.
    pub fn mark_awake(&self) {
        self.memory.word(AT_FRONT).store(AWAKE, SeqCst);
    }
}
