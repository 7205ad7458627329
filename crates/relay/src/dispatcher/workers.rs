//! Which workers there are, and which of them is woken.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::Dispatcher;
use crate::layout::{
    ASLEEP, AT_COMPLETIONS, AT_FRONT, AWAKE, CONSUMER_CAPACITY, CONSUMER_CLAIMS, CONSUMER_CLOSED,
    CONSUMER_RUNS, CONSUMER_SIGNALS, CONSUMER_SINCE, MAX_WORKERS, SLOTS,
};
use crate::memory::now;

/// Nanoseconds after which a worker that was woken, or has come, is busy with something else: with requests of another thread of
/// the front, or of the front before.
const CLAIMS_WITHIN: u64 = 10_000_000;

/// A consumer, as known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Free,
    /// Its worker has come then. It was woken then, if ever, and had claimed this number of requests before.
    Taken {
        came: u64,
        woken: u64,
        claims: u64,
    },
    /// Its worker gets nothing more.
    Closed,
}

/// How many workers there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Staff {
    /// That take requests.
    pub workers: usize,
    /// That are about to claim one: they have just come, or were just woken.
    pub claiming: usize,
    /// That compute or are about to, those that take no more requests included.
    pub computing: usize,
}

impl Dispatcher {
    /// A consumer for a worker; `None` if all are taken.
    pub fn add_consumer(&self) -> Option<u16> {
        let mut consumers = self.consumers.borrow_mut();
        let taken = Place::Taken {
            came: now(),
            woken: 0,
            claims: 0,
        };
        let free = consumers.iter().position(|place| *place == Place::Free);
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

    /// Its worker gets nothing more; what it has it keeps.
    pub fn close(&self, consumer: u16) {
        self.memory
            .consumer(consumer, CONSUMER_CLOSED)
            .store(1, SeqCst);
        let (word, bit) = self.memory.sleeping(consumer);
        word.fetch_and(!bit, SeqCst);
        self.consumers.borrow_mut()[usize::from(consumer)] = Place::Closed;
    }

    /// Its worker is gone.
    pub fn remove_consumer(&self, consumer: u16) {
        self.close(consumer);
        self.consumers.borrow_mut()[usize::from(consumer)] = Place::Free;
    }

    fn is_asleep(&self, consumer: usize) -> bool {
        let (word, bit) = self.memory.sleeping(consumer as u16);
        word.load(SeqCst) & bit != 0
    }

    /// Whether a worker has nothing to do, or room for more.
    pub fn has_idle(&self) -> bool {
        let consumers = 0..self.consumers.borrow().len();
        consumers.step_by(64).any(|consumer| {
            let (word, _) = self.memory.sleeping(consumer as u16);
            word.load(SeqCst) != 0
        })
    }

    /// How many requests can be begun at once: the room of workers that sleep, and of those that were woken and have not
    /// claimed yet.
    pub fn idle_capacity(&self) -> usize {
        let consumers = self.consumers.borrow();
        let idle = consumers
            .iter()
            .enumerate()
            .filter(|(consumer, place)| match place {
                Place::Taken { woken, claims, .. } => {
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

    /// How many of the workers that do not sleep have begun with something, or were woken, less than a number of nanoseconds
    /// ago; and how many sleep.
    pub fn active(&self, within: u64) -> (usize, usize) {
        let (mut active, mut asleep, now) = (0, 0, now());
        for (consumer, place) in self.consumers.borrow().iter().enumerate() {
            let Place::Taken { woken, .. } = place else {
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

    /// What all workers do.
    pub fn staff(&self) -> Staff {
        let (mut staff, now) = (Staff::default(), now());
        for (consumer, place) in self.consumers.borrow().iter().enumerate() {
            let runs = self
                .memory
                .consumer(consumer as u16, CONSUMER_RUNS)
                .load(Relaxed);
            let is_about_to_claim = match place {
                Place::Free => continue,
                Place::Closed => false,
                Place::Taken {
                    came,
                    woken,
                    claims,
                } => {
                    staff.workers += 1;
                    self.claims(consumer) == *claims
                        && now.saturating_sub(*woken.max(came)) < CLAIMS_WITHIN
                        && !self.is_asleep(consumer)
                }
            };
            staff.claiming += usize::from(is_about_to_claim);
            staff.computing += usize::from(is_about_to_claim || runs != 0);
        }
        staff
    }

    /// A worker that sleeps, to be woken now: the one with the fewest requests, because one that computes delays all that
    /// its worker has; among equals the first, so that few of them stay warm.
    pub fn wake(&self) -> Option<u16> {
        loop {
            let consumer = self.least_loaded()?;
            let (word, bit) = self.memory.sleeping(consumer);
            if word.fetch_and(!bit, SeqCst) & bit == 0 {
                // It woke of itself meanwhile.
                continue;
            }
            let before = self.claims(usize::from(consumer));
            if let Place::Taken { woken, claims, .. } =
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
            matches!(consumers[*consumer], Place::Taken { .. }) && self.is_asleep(*consumer)
        });
        // The last of the greatest, and so the first consumer.
        let consumer = asleep.max_by_key(|consumer| self.capacity_of(*consumer))?;
        u16::try_from(consumer).ok()
    }

    // ---- sleep ----

    /// About to wait; false if a worker has done something meanwhile.
    pub fn sleep(&self) -> bool {
        let front = self.memory.word(AT_FRONT);
        front.store(ASLEEP, SeqCst);
        let quiet = self.memory.word(AT_COMPLETIONS).load(SeqCst) == 0;
        if !quiet {
            front.store(AWAKE, SeqCst);
        }
        quiet
    }

    /// It waits no more.
    pub fn mark_awake(&self) {
        self.memory.word(AT_FRONT).store(AWAKE, SeqCst);
    }
}
