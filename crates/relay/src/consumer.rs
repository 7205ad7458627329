//! The worker's side: claims requests and answers them.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use crate::layout::state::{ANSWERED, CANCELLED, CLAIMED, ENDED, HELD, LISTED, claimed, posted};
use crate::layout::{
    ASLEEP, AT_COMPLETIONS, AT_FRONT, AWAKE, CONSUMER_CAPACITY, CONSUMER_CLAIMS, CONSUMER_CLOSED,
    CONSUMER_RUNS, CONSUMER_SIGNALS, CONSUMER_SINCE, MAX_WORKERS, RINGS, SLOT_CPU, SLOT_NEXT,
    SLOT_PHP, SLOT_SINCE,
};
use crate::memory::{Memory, RequestKey};

/// A worker's end of one dispatcher. The worker uses it from one thread.
#[derive(Debug)]
pub struct Consumer {
    memory: Memory,
    consumer: u16,
}

/// Whether the worker has to wake the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a front that is not woken does not see the answer"]
pub enum Notify {
    /// The front runs, or is woken already.
    No,
    Yes,
}

impl AsRef<Consumer> for Consumer {
    fn as_ref(&self) -> &Consumer {
        self
    }
}

impl Consumer {
    /// Maps the front's memory, as the consumer with this number.
    pub fn take(memory: &OwnedFd, consumer: u16) -> io::Result<Consumer> {
        let memory = Memory::of(memory)?;
        if usize::from(consumer) >= MAX_WORKERS {
            let what = format!("there is no consumer {consumer}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Consumer { memory, consumer })
    }

    #[cfg(all(test, feature = "model"))]
    pub(crate) fn beside(dispatcher: &crate::Dispatcher) -> Consumer {
        Consumer {
            memory: dispatcher.memory.share(),
            consumer: dispatcher.add_consumer().expect("a consumer"),
        }
    }

    /// Claims the next request of a ring, if there is one and this worker may claim requests.
    pub(crate) fn claim_of(&self, ring: usize) -> Option<RequestKey> {
        if self.is_closed() {
            return None;
        }
        let ring = self.memory.ring(ring);
        loop {
            let head = ring.head();
            if head >= ring.tail() {
                return None;
            }
            let key = ring.entry(head);
            let won = key.is_some_and(|key| self.try_claim(key));
            ring.pass(head);
            if won {
                return key;
            }
        }
    }

    /// Claims the request by one compare-and-swap. A worker that dies may leave every step before and after it undone.
    pub(crate) fn try_claim(&self, key: RequestKey) -> bool {
        let (from, to) = (posted(key.seq), claimed(key.seq, self.consumer));
        let state = self.memory.state(key);
        state.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    /// Notes when the request was claimed, and resets its times.
    pub(crate) fn has_claimed(&self, key: RequestKey, now: u64) {
        let slot = self.memory.slot(key.slot);
        slot[SLOT_SINCE].store(now, Relaxed);
        slot[SLOT_PHP].store(0, Relaxed);
        slot[SLOT_CPU].store(0, Relaxed);
    }

    /// Publishes how long the request's code has run so far, and for how long it had the processor, for
    /// [`crate::Dispatcher::spent`]. To be called before the completion that it belongs to.
    pub fn publish_times(&self, key: RequestKey, php: Duration, cpu: Duration) {
        if self.owns(key, self.memory.state(key).load(SeqCst)) {
            let slot = self.memory.slot(key.slot);
            for (at, time) in [(SLOT_PHP, php), (SLOT_CPU, cpu)] {
                let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                slot[at].store(nanoseconds, Relaxed);
            }
        }
    }

    /// Publishes that this worker has claimed a request, here or from another queue.
    pub(crate) fn begins(&self, now: u64) {
        self.memory
            .consumer(self.consumer, CONSUMER_SINCE)
            .store(now, Relaxed);
        let claims = self.memory.consumer(self.consumer, CONSUMER_CLAIMS);
        claims.store(claims.load(Relaxed).wrapping_add(1), SeqCst);
    }

    /// Appends the request frame to `to`.
    pub fn read(&self, key: RequestKey, to: &mut Vec<u8>) {
        self.memory.read(key.slot, to);
    }

    /// Writes the response frame, at most [`crate::SLOT_CAPACITY`] bytes, in place of the request. `ended`: the request has
    /// ended with it.
    pub fn answer(&self, key: RequestKey, bytes: &[u8], ended: bool) -> Notify {
        if !self.owns(key, self.memory.state(key).load(SeqCst)) {
            return Notify::No;
        }
        self.memory.write(key.slot, bytes);
        let ended = if ended { ENDED } else { 0 };
        self.publish(key, ANSWERED | ended)
    }

    /// Ends the request, answered or not.
    pub fn end(&self, key: RequestKey) -> Notify {
        self.publish(key, ENDED)
    }

    /// Whether this worker still has the request, by the slot's state: a front that has given a worker up reuses the slot.
    fn owns(&self, key: RequestKey, state: u64) -> bool {
        let mine = claimed(key.seq, self.consumer);
        state & CLAIMED != 0 && state >> 16 == mine >> 16
    }

    fn publish(&self, key: RequestKey, what: u64) -> Notify {
        let published = |state| {
            let is_mine = self.owns(key, state);
            is_mine.then_some(state | what | LISTED)
        };
        let state = self.memory.state(key);
        let Ok(before) = state.fetch_update(SeqCst, SeqCst, published) else {
            return Notify::No;
        };
        if before & LISTED == 0 {
            self.list(key);
        }
        let front = self.memory.word(AT_FRONT);
        // Most often the front runs; then nothing is written to a word that all workers read.
        if front.load(SeqCst) == ASLEEP && front.swap(AWAKE, SeqCst) == ASLEEP {
            Notify::Yes
        } else {
            Notify::No
        }
    }

    fn list(&self, key: RequestKey) {
        let completion = self.memory.word(AT_COMPLETIONS);
        let next = &self.memory.slot(key.slot)[SLOT_NEXT];
        let mut last = completion.load(SeqCst);
        loop {
            next.store(last, SeqCst);
            match completion.compare_exchange(last, u64::from(key.slot) + 1, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// Whether the request is cancelled: its client no longer waits.
    pub fn is_cancelled(&self, key: RequestKey) -> bool {
        self.memory.state(key).load(SeqCst) & (CLAIMED | CANCELLED) == CLAIMED | CANCELLED
    }

    /// Whether the response is held: the worker is to pause it, because the client reads slowly.
    pub fn is_held(&self, key: RequestKey) -> bool {
        self.memory.state(key).load(SeqCst) & (CLAIMED | HELD) == CLAIMED | HELD
    }

    /// Returns how often the front has cancelled, held or released a request of this worker.
    pub fn signals(&self) -> u64 {
        self.memory
            .consumer(self.consumer, CONSUMER_SIGNALS)
            .load(SeqCst)
    }

    /// Publishes how many requests this worker may take beside those that it has.
    pub fn set_capacity(&self, room: u32) {
        let word = self.memory.consumer(self.consumer, CONSUMER_CAPACITY);
        word.store(u64::from(room), Relaxed);
    }

    /// Publishes whether this worker computes, or waits for something.
    pub fn set_running(&self, runs: bool) {
        let word = self.memory.consumer(self.consumer, CONSUMER_RUNS);
        word.store(u64::from(runs), Relaxed);
    }

    /// Whether this worker is to claim no further request.
    pub fn is_closed(&self) -> bool {
        self.memory
            .consumer(self.consumer, CONSUMER_CLOSED)
            .load(SeqCst)
            != 0
    }

    /// Announces that this worker sleeps; returns false if there is a request to claim instead.
    pub fn sleep(&self) -> bool {
        let (word, bit) = self.memory.sleeping(self.consumer);
        word.fetch_or(bit, SeqCst);
        if self.is_closed() {
            self.mark_awake();
            return true;
        }
        let something = (0..RINGS).any(|ring| {
            let ring = self.memory.ring(ring);
            ring.head() < ring.tail()
        });
        if something {
            self.mark_awake();
        }
        !something
    }

    /// Marks this worker as awake.
    pub fn mark_awake(&self) {
        let (word, bit) = self.memory.sleeping(self.consumer);
        word.fetch_and(!bit, SeqCst);
    }
}
