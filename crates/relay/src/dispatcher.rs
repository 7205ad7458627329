//! The front's side: posts requests, and hears what became of them. One process, one thread.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use crate::layout::state::{
    ANSWERED, CANCELLED, CLAIMED, ENDED, HELD, LISTED, consumer as consumer_of, posted, seq,
};
use crate::layout::{
    ASLEEP, AT_COMPLETIONS, AT_FRONT, AWAKE, CONSUMER_CAPACITY, CONSUMER_CLAIMS, CONSUMER_CLOSED,
    CONSUMER_RUNS, CONSUMER_SIGNALS, CONSUMER_SINCE, MAX_WORKERS, RING_CAPACITY, RINGS, SLOT_CPU,
    SLOT_NEXT, SLOT_PHP, SLOT_SINCE, SLOTS,
};
use crate::memory::{Memory, RequestKey, now};

/// Nanoseconds after which a worker that was woken, or has come, is busy with something else: with requests of another thread of
/// the front, or of the front before.
const CLAIMS_WITHIN: u64 = 10_000_000;

/// Where requests are posted and answers fetched.
#[derive(Debug)]
pub struct Dispatcher {
    pub(crate) memory: Memory,
    /// Last used first: the memory of few slots is touched.
    free: RefCell<Vec<u16>>,
    /// Slots from here on were never used: a look at them would give them memory.
    used: Cell<u16>,
    /// How many are [`Reserved`].
    reserved: Cell<u64>,
    next: Cell<u32>,
    /// Up to where each ring was looked at by [`Dispatcher::drain_dequeued`].
    seen: [Cell<u64>; RINGS],
    consumers: RefCell<Vec<Place>>,
    /// Memory for [`Dispatcher::drain_completions`].
    completed: RefCell<Vec<u16>>,
}

/// A consumer, as known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
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

/// A slot to write a request to. Give it to [`Dispatcher::post`].
#[derive(Debug)]
#[must_use = "a slot that is not posted is lost"]
pub struct Reserved(u16);

/// Which requests go before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Those that a worker died with.
    Retry,
    Normal,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub key: RequestKey,
    /// Its answer can be read.
    pub answered: bool,
    /// Its worker has done with it: [`Dispatcher::free`] it when the answer was read.
    pub ended: bool,
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

impl Completion {
    fn of(slot: u16, state: u64) -> Completion {
        let seq = seq(state);
        Completion {
            key: RequestKey { slot, seq },
            answered: state & ANSWERED != 0,
            ended: state & ENDED != 0,
        }
    }
}

impl Dispatcher {
    /// A new one, and its memory for [`crate::Consumer::take`].
    pub fn open() -> io::Result<(Dispatcher, OwnedFd)> {
        let (memory, fd) = Memory::create()?;
        let slots = u16::try_from(SLOTS).expect("a slot's number is 16 bits");
        let dispatcher = Dispatcher {
            memory,
            free: RefCell::new((0..slots).rev().collect()),
            used: Cell::new(0),
            reserved: Cell::new(0),
            next: Cell::new(0),
            seen: Default::default(),
            consumers: RefCell::default(),
            completed: RefCell::default(),
        };
        Ok((dispatcher, fd))
    }

    // ---- requests ----

    /// A slot, unless all are in use, or a ring would have no room for all that have one: then [`Dispatcher::drain_dequeued`] makes some.
    /// What it is for goes to [`Dispatcher::write`].
    pub fn reserve(&self) -> Option<Reserved> {
        let reserved = self.reserved.get();
        let has_room = |(index, seen): (usize, &Cell<u64>)| {
            self.memory.ring(index).tail() - seen.get() + reserved < RING_CAPACITY as u64
        };
        if !self.seen.iter().enumerate().all(has_room) {
            return None;
        }
        let slot = self.free.borrow_mut().pop()?;
        self.reserved.set(reserved + 1);
        self.used.set(self.used.get().max(slot + 1));
        Some(Reserved(slot))
    }

    #[cfg(all(test, not(feature = "model")))]
    pub(crate) fn free_slots(&self) -> usize {
        self.free.borrow().len()
    }

    /// At most [`crate::SLOT_CAPACITY`] bytes.
    pub fn write(&self, slot: &Reserved, bytes: &[u8]) {
        self.memory.write(slot.0, bytes);
    }

    /// Posts the request for the next worker that claims.
    pub fn post(&self, slot: Reserved, priority: Priority) -> RequestKey {
        let key = RequestKey {
            slot: slot.0,
            seq: self.next.replace(self.next.get().wrapping_add(1)),
        };
        self.reserved.set(self.reserved.get() - 1);
        self.memory.state(key).store(posted(key.seq), SeqCst);
        self.memory.ring(priority as usize).append(key);
        key
    }

    /// It is not to be claimed any more, and its slot is free; false if a worker has it already.
    pub fn try_withdraw(&self, key: RequestKey) -> bool {
        let state = self.memory.state(key);
        let mine = state
            .compare_exchange(posted(key.seq), 0, SeqCst, SeqCst)
            .is_ok();
        if mine {
            self.free.borrow_mut().push(key.slot);
        }
        mine
    }

    /// Marks the request as cancelled. Returns the worker that has it, to be woken; [`Completion`] come all the same.
    pub fn cancel(&self, key: RequestKey) -> Option<u16> {
        let before = self.memory.state(key).fetch_or(CANCELLED, SeqCst);
        self.signal(before)
    }

    /// The worker that has a request of this state, which has changed, is to look at it.
    fn signal(&self, state: u64) -> Option<u16> {
        let is_claimed = state & (CLAIMED | ENDED) == CLAIMED;
        let consumer = Some(consumer_of(state))
            .filter(|consumer| is_claimed && usize::from(*consumer) < MAX_WORKERS)?;
        let signals = self.memory.consumer(consumer, CONSUMER_SIGNALS);
        signals.store(signals.load(Relaxed).wrapping_add(1), SeqCst);
        Some(consumer)
    }

    /// Whether its client reads more slowly than the answer comes. If that is new, the worker that has it, to be woken.
    pub fn hold(&self, key: RequestKey, is_held: bool) -> Option<u16> {
        let state = self.memory.state(key);
        let before = match is_held {
            true => state.fetch_or(HELD, SeqCst),
            false => state.fetch_and(!HELD, SeqCst),
        };
        let changes = (before & HELD != 0) != is_held;
        changes.then(|| self.signal(before)).flatten()
    }

    /// How long ago it was claimed.
    pub fn claimed_for(&self, key: RequestKey) -> Duration {
        let since = self.memory.slot(key.slot)[SLOT_SINCE].load(Relaxed);
        Duration::from_nanos(now().saturating_sub(since))
    }

    /// How long its code has run, and for how long it had the processor, as its worker has said last; zero if it has not.
    pub fn spent(&self, key: RequestKey) -> (Duration, Duration) {
        let slot = self.memory.slot(key.slot);
        let time = |at: usize| Duration::from_nanos(slot[at].load(Relaxed));
        (time(SLOT_PHP), time(SLOT_CPU))
    }

    /// The worker that has claimed the request.
    pub fn owner_of(&self, key: RequestKey) -> Option<u16> {
        let state = self.memory.state(key).load(SeqCst);
        (state & CLAIMED != 0 && seq(state) == key.seq).then_some(consumer_of(state))
    }

    /// Append its answer to `to`.
    pub fn read(&self, key: RequestKey, to: &mut Vec<u8>) {
        self.memory.read(key.slot, to);
    }

    /// It has ended, or its worker is dead, and there is nothing more to read.
    pub fn free(&self, key: RequestKey) {
        self.memory.state(key).store(0, SeqCst);
        self.free.borrow_mut().push(key.slot);
    }

    /// Look at all that was answered or has ended since the last look.
    pub fn drain_completions(&self, mut look: impl FnMut(Completion)) {
        let mut last = self.memory.word(AT_COMPLETIONS).load(SeqCst);
        if last != 0 {
            last = self.memory.word(AT_COMPLETIONS).swap(0, SeqCst);
        }
        let mut found = self.completed.take();
        while let Some(slot) = last
            .checked_sub(1)
            .and_then(|slot| u16::try_from(slot).ok())
            .filter(|slot| usize::from(*slot) < SLOTS && found.len() < SLOTS)
        {
            found.push(slot);
            last = self.memory.slot(slot)[SLOT_NEXT].load(SeqCst);
        }
        // The list begins with the last.
        for slot in found.drain(..).rev() {
            let state = &self.memory.slot(slot)[crate::layout::SLOT_STATE];
            let before = state.fetch_and(!LISTED, SeqCst);
            if before & LISTED != 0 {
                look(Completion::of(slot, before));
            }
        }
        self.completed.replace(found);
    }

    /// The requests that this consumer had claimed when its worker died. Drain the completions first.
    pub fn claimed_by(&self, consumer: u16) -> Vec<Completion> {
        let state = |slot| (slot, self.memory.slot(slot)[0].load(SeqCst));
        (0..self.used.get())
            .map(state)
            .filter(|(_, state)| state & CLAIMED != 0 && consumer_of(*state) == consumer)
            .map(|(slot, state)| Completion::of(slot, state))
            .collect()
    }

    /// Look at all that are not in the queue any more since the last look.
    pub fn drain_dequeued(&self, mut look: impl FnMut(RequestKey)) {
        for (index, seen) in self.seen.iter().enumerate() {
            let ring = self.memory.ring(index);
            self.trim(&ring);
            let head = ring.head();
            while seen.get() < head {
                if let Some(key) = ring.entry(seen.get()) {
                    look(key);
                }
                seen.set(seen.get() + 1);
            }
        }
    }

    /// What was taken back need not wait for a worker to pass it.
    fn trim(&self, ring: &crate::memory::Ring<'_>) {
        loop {
            let head = ring.head();
            let gone = head < ring.tail()
                && ring
                    .entry(head)
                    .is_none_or(|key| self.memory.state(key).load(SeqCst) != posted(key.seq));
            if !gone {
                return;
            }
            ring.pass(head);
        }
    }

    // ---- workers ----

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
