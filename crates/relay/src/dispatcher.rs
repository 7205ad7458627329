//! The front's side: posts requests and drains their completions. One process, one thread.

mod workers;

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use crate::layout::state::{
    ANSWERED, CANCELLED, CLAIMED, ENDED, HELD, LISTED, consumer as consumer_of, posted, seq,
};
use crate::layout::{
    AT_COMPLETIONS, CONSUMER_SIGNALS, MAX_WORKERS, RING_CAPACITY, RINGS, SLOT_CPU, SLOT_NEXT,
    SLOT_PHP, SLOT_SINCE, SLOTS,
};
use crate::memory::{Memory, RequestKey, now};

use workers::ConsumerState;
pub use workers::WorkerCounts;

/// The front's side of the shared memory: posts requests, and reads responses.
#[derive(Debug)]
pub struct Dispatcher {
    pub(crate) memory: Memory,
    /// Free slots. The last used is taken first, so that the memory of few slots is touched.
    free: RefCell<Vec<u16>>,
    /// Slots from here on were never used; reading them would give them memory.
    used: Cell<u16>,
    /// Number of slots that are [`Reserved`].
    reserved: Cell<u64>,
    next: Cell<u32>,
    /// The position in each ring up to which [`Dispatcher::drain_dequeued`] has gone.
    seen: [Cell<u64>; RINGS],
    consumers: RefCell<Vec<ConsumerState>>,
    /// Memory for [`Dispatcher::drain_completions`].
    completed: RefCell<Vec<u16>>,
}

/// A slot to write a request to, for [`Dispatcher::post`].
#[derive(Debug)]
#[must_use = "a slot that is not posted is lost"]
pub struct Reserved(u16);

/// The order in which requests are claimed: retries first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Requests that a worker has died with.
    Retry,
    Normal,
}

/// What a worker has done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub key: RequestKey,
    /// Whether the response frame can be read.
    pub answered: bool,
    /// Whether the worker has ended the request: its slot is to be freed ([`Dispatcher::free`]) once the response was read.
    pub ended: bool,
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
    /// Creates a dispatcher; returns its memory too, for [`crate::Consumer::take`].
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

    /// Reserves a slot for [`Dispatcher::write`]; `None` if all are in use, or if a ring would have no room for all reserved
    /// slots, in which case [`Dispatcher::drain_dequeued`] makes some.
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

    /// Writes the request frame, at most [`crate::SLOT_CAPACITY`] bytes.
    pub fn write(&self, slot: &Reserved, bytes: &[u8]) {
        self.memory.write(slot.0, bytes);
    }

    /// Posts the request, for the next worker that claims one.
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

    /// Withdraws the request, and frees its slot; returns false if a worker has claimed it already.
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

    /// Marks the request as cancelled. Returns the worker that has claimed it, which is to be woken. Its [`Completion`]s
    /// come all the same.
    pub fn cancel(&self, key: RequestKey) -> Option<u16> {
        let before = self.memory.state(key).fetch_or(CANCELLED, SeqCst);
        self.signal(before)
    }

    /// Signals a change of a slot's state to the worker that has claimed the request, if there is one, and returns that
    /// worker.
    fn signal(&self, state: u64) -> Option<u16> {
        let is_claimed = state & (CLAIMED | ENDED) == CLAIMED;
        let consumer = Some(consumer_of(state))
            .filter(|consumer| is_claimed && usize::from(*consumer) < MAX_WORKERS)?;
        let signals = self.memory.consumer(consumer, CONSUMER_SIGNALS);
        signals.store(signals.load(Relaxed).wrapping_add(1), SeqCst);
        Some(consumer)
    }

    /// Holds the response, because its client reads more slowly than it comes, or releases it. If that is a change, returns
    /// the worker that has claimed the request, which is to be woken.
    pub fn hold(&self, key: RequestKey, is_held: bool) -> Option<u16> {
        let state = self.memory.state(key);
        let before = match is_held {
            true => state.fetch_or(HELD, SeqCst),
            false => state.fetch_and(!HELD, SeqCst),
        };
        let changes = (before & HELD != 0) != is_held;
        changes.then(|| self.signal(before)).flatten()
    }

    /// Returns how long ago the request was claimed.
    pub fn claimed_for(&self, key: RequestKey) -> Duration {
        let since = self.memory.slot(key.slot)[SLOT_SINCE].load(Relaxed);
        Duration::from_nanos(now().saturating_sub(since))
    }

    /// Returns how long the request's code has run, and for how long it had the processor, as the worker published them
    /// last; zero if it did not.
    pub fn spent(&self, key: RequestKey) -> (Duration, Duration) {
        let slot = self.memory.slot(key.slot);
        let time = |at: usize| Duration::from_nanos(slot[at].load(Relaxed));
        (time(SLOT_PHP), time(SLOT_CPU))
    }

    /// Returns the worker that has claimed the request.
    pub fn owner_of(&self, key: RequestKey) -> Option<u16> {
        let state = self.memory.state(key).load(SeqCst);
        (state & CLAIMED != 0 && seq(state) == key.seq).then_some(consumer_of(state))
    }

    /// Appends the response frame to `to`.
    pub fn read(&self, key: RequestKey, to: &mut Vec<u8>) {
        self.memory.read(key.slot, to);
    }

    /// Frees the slot of a request that has ended, or whose worker is dead, when nothing more is to be read from it.
    pub fn free(&self, key: RequestKey) {
        self.memory.state(key).store(0, SeqCst);
        self.free.borrow_mut().push(key.slot);
    }

    /// Calls `handle` for each request that was answered or has ended since the last call, oldest first.
    pub fn drain_completions(&self, mut handle: impl FnMut(Completion)) {
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
        // The list begins with the slot that was added last.
        for slot in found.drain(..).rev() {
            let state = &self.memory.slot(slot)[crate::layout::SLOT_STATE];
            let before = state.fetch_and(!LISTED, SeqCst);
            if before & LISTED != 0 {
                handle(Completion::of(slot, before));
            }
        }
        self.completed.replace(found);
    }

    /// Returns the requests that this consumer had claimed when its worker died. Completions must be drained before.
    pub fn claimed_by(&self, consumer: u16) -> Vec<Completion> {
        let state = |slot| (slot, self.memory.slot(slot)[0].load(SeqCst));
        (0..self.used.get())
            .map(state)
            .filter(|(_, state)| state & CLAIMED != 0 && consumer_of(*state) == consumer)
            .map(|(slot, state)| Completion::of(slot, state))
            .collect()
    }

    /// Calls `handle` for each request that has left the queue since the last call.
    pub fn drain_dequeued(&self, mut handle: impl FnMut(RequestKey)) {
        for (index, seen) in self.seen.iter().enumerate() {
            let ring = self.memory.ring(index);
            self.trim(&ring);
            let head = ring.head();
            while seen.get() < head {
                if let Some(key) = ring.entry(seen.get()) {
                    handle(key);
                }
                seen.set(seen.get() + 1);
            }
        }
    }

    /// Removes withdrawn requests from the head of the ring, which would otherwise stay until a worker passes them.
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
}
