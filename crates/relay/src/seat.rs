//! The worker's side: claims requests, and answers them.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::layout::state::{ANSWERED, CANCELLED, CLAIMED, ENDED, HELD, LISTED, claimed, posted};
use crate::layout::{
    ASLEEP, AT_FRONT, AT_NEWS, AWAKE, LANES, SEAT_CLAIMS, SEAT_CLOSED, SEAT_ROOM, SEAT_RUNS,
    SEAT_SIGNALS, SEAT_SINCE, SEATS, SLOT_NEXT, SLOT_SINCE,
};
use crate::memory::{Memory, Order};

/// A worker's place at a front's desk. Its worker is one thread.
#[derive(Debug)]
pub struct Seat {
    memory: Memory,
    seat: u16,
}

/// What is to be done about the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a front that is not woken does not see the answer"]
pub enum Then {
    /// It runs, or somebody wakes it.
    Nothing,
    Wake,
}

impl AsRef<Seat> for Seat {
    fn as_ref(&self) -> &Seat {
        self
    }
}

impl Seat {
    /// The seat of this number in the front's memory.
    pub fn take(memory: &OwnedFd, seat: u16) -> io::Result<Seat> {
        let memory = Memory::of(memory)?;
        if usize::from(seat) >= SEATS {
            let what = format!("there is no seat {seat}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Seat { memory, seat })
    }

    /// The next request in this lane, if one is posted and this worker is to have any.
    pub(crate) fn claim_of(&self, lane: usize) -> Option<Order> {
        if self.is_closed() {
            return None;
        }
        let lane = self.memory.lane(lane);
        loop {
            let head = lane.head();
            if head >= lane.tail() {
                return None;
            }
            let order = lane.entry(head);
            let won = order.is_some_and(|order| self.win(order));
            lane.pass(head);
            if won {
                return order;
            }
        }
    }

    /// This is the claim: all before it and after it may be left undone by who dies.
    pub(crate) fn win(&self, order: Order) -> bool {
        let (from, to) = (posted(order.number), claimed(order.number, self.seat));
        let state = self.memory.state(order);
        state.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    /// When this one was claimed.
    pub(crate) fn has_claimed(&self, order: Order, now: u64) {
        self.memory.slot(order.slot)[SLOT_SINCE].store(now, Relaxed);
    }

    /// This worker has claimed something, here or from another queue.
    pub(crate) fn begins(&self, now: u64) {
        self.memory.seat(self.seat, SEAT_SINCE).store(now, Relaxed);
        let claims = self.memory.seat(self.seat, SEAT_CLAIMS);
        claims.store(claims.load(Relaxed).wrapping_add(1), SeqCst);
    }

    /// What the front wrote.
    pub fn read(&self, order: Order, to: &mut Vec<u8>) {
        self.memory.read(order.slot, to);
    }

    /// The answer, or its beginning, in place of the request. At most [`crate::ROOM`] bytes. `ended`: that was all.
    pub fn answer(&self, order: Order, bytes: &[u8], ended: bool) -> Then {
        if !self.has(order, self.memory.state(order).load(SeqCst)) {
            return Then::Nothing;
        }
        self.memory.write(order.slot, bytes);
        let ended = if ended { ENDED } else { 0 };
        self.tell(order, ANSWERED | ended)
    }

    /// This worker has done with it, answered or not.
    pub fn end(&self, order: Order) -> Then {
        self.tell(order, ENDED)
    }

    /// Whether this worker still has it, if the slot's state is this: a front that has given a worker up uses the slot again.
    fn has(&self, order: Order, state: u64) -> bool {
        let mine = claimed(order.number, self.seat);
        state & CLAIMED != 0 && state >> 16 == mine >> 16
    }

    fn tell(&self, order: Order, what: u64) -> Then {
        let told = |state| {
            let is_mine = self.has(order, state);
            is_mine.then_some(state | what | LISTED)
        };
        let state = self.memory.state(order);
        let Ok(before) = state.fetch_update(SeqCst, SeqCst, told) else {
            return Then::Nothing;
        };
        if before & LISTED == 0 {
            self.list(order);
        }
        let front = self.memory.word(AT_FRONT);
        // Most often it runs; then nothing is written to a word that all look at.
        if front.load(SeqCst) == ASLEEP && front.swap(AWAKE, SeqCst) == ASLEEP {
            Then::Wake
        } else {
            Then::Nothing
        }
    }

    fn list(&self, order: Order) {
        let news = self.memory.word(AT_NEWS);
        let next = &self.memory.slot(order.slot)[SLOT_NEXT];
        let mut last = news.load(SeqCst);
        loop {
            next.store(last, SeqCst);
            match news.compare_exchange(last, u64::from(order.slot) + 1, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// Nobody waits for the answer any more.
    pub fn is_cancelled(&self, order: Order) -> bool {
        self.memory.state(order).load(SeqCst) & (CLAIMED | CANCELLED) == CLAIMED | CANCELLED
    }

    /// No more of the answer is wanted for now: the client reads slowly.
    pub fn is_held(&self, order: Order) -> bool {
        self.memory.state(order).load(SeqCst) & (CLAIMED | HELD) == CLAIMED | HELD
    }

    /// How often the front has cancelled, held or released a request of this worker.
    pub fn signals(&self) -> u64 {
        self.memory.seat(self.seat, SEAT_SIGNALS).load(SeqCst)
    }

    /// Publishes how many requests this worker may take beside those that it has.
    pub fn set_room(&self, room: u32) {
        let word = self.memory.seat(self.seat, SEAT_ROOM);
        word.store(u64::from(room), Relaxed);
    }

    /// Whether this worker computes, or waits for something.
    pub fn set_runs(&self, runs: bool) {
        let word = self.memory.seat(self.seat, SEAT_RUNS);
        word.store(u64::from(runs), Relaxed);
    }

    /// No further request is for this worker.
    pub fn is_closed(&self) -> bool {
        self.memory.seat(self.seat, SEAT_CLOSED).load(SeqCst) != 0
    }

    /// About to wait for the front's wake-up; false if there is something to claim instead.
    pub fn sleep(&self) -> bool {
        let (word, bit) = self.memory.sleeping(self.seat);
        word.fetch_or(bit, SeqCst);
        if self.is_closed() {
            self.rise();
            return true;
        }
        let something = (0..LANES).any(|lane| {
            let lane = self.memory.lane(lane);
            lane.head() < lane.tail()
        });
        if something {
            self.rise();
        }
        !something
    }

    /// It does not wait any more.
    pub fn rise(&self) {
        let (word, bit) = self.memory.sleeping(self.seat);
        word.fetch_and(!bit, SeqCst);
    }
}
