//! The front's side: posts requests, and hears what became of them. One process, one thread.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use crate::layout::state::{
    ANSWERED, CANCELLED, CLAIMED, ENDED, HELD, LISTED, number, posted, seat as seat_of,
};
use crate::layout::{
    ASLEEP, AT_FRONT, AT_NEWS, AWAKE, LANES, RING, SEAT_CLAIMS, SEAT_CLOSED, SEAT_ROOM, SEAT_RUNS,
    SEAT_SIGNALS, SEAT_SINCE, SEATS, SLOT_NEXT, SLOT_SINCE, SLOTS,
};
use crate::memory::{Memory, Order, now};

/// Where requests are posted and answers fetched.
#[derive(Debug)]
pub struct Desk {
    memory: Memory,
    /// Last used first: the memory of few slots is touched.
    free: RefCell<Vec<u16>>,
    /// Slots from here on were never used: a look at them would give them memory.
    used: Cell<u16>,
    /// How many are [`Reserved`].
    reserved: Cell<u64>,
    next: Cell<u32>,
    /// Up to where each lane was looked at by [`Desk::passed`].
    seen: [Cell<u64>; LANES],
    seats: RefCell<Vec<Place>>,
}

/// A seat, as known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    /// Its worker was woken then, and has claimed so many before that.
    Taken {
        woken: u64,
        claims: u64,
    },
    /// Its worker gets nothing more.
    Closed,
}

/// A slot to write a request to. Give it to [`Desk::post`].
#[derive(Debug)]
#[must_use = "a slot that is not posted is lost"]
pub struct Reserved(u16);

/// Which requests go before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Those that a worker died with.
    First,
    Usual,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    pub order: Order,
    /// Its answer can be read.
    pub answered: bool,
    /// Its worker has done with it: [`Desk::free`] it when the answer was read.
    pub ended: bool,
}

impl News {
    fn of(slot: u16, state: u64) -> News {
        let number = number(state);
        News {
            order: Order { slot, number },
            answered: state & ANSWERED != 0,
            ended: state & ENDED != 0,
        }
    }
}

impl Desk {
    /// A new one, and its memory for [`crate::Seat::take`].
    pub fn open() -> io::Result<(Desk, OwnedFd)> {
        let (memory, fd) = Memory::create()?;
        let slots = u16::try_from(SLOTS).expect("a slot's number is 16 bits");
        let desk = Desk {
            memory,
            free: RefCell::new((0..slots).rev().collect()),
            used: Cell::new(0),
            reserved: Cell::new(0),
            next: Cell::new(0),
            seen: Default::default(),
            seats: RefCell::default(),
        };
        Ok((desk, fd))
    }

    // ---- requests ----

    /// A slot, unless all are in use, or a ring would have no room for all that have one: then [`Desk::passed`] makes some.
    /// What it is for goes to [`Desk::write`].
    pub fn reserve(&self) -> Option<Reserved> {
        let reserved = self.reserved.get();
        let has_room = |(lane, seen): (usize, &Cell<u64>)| {
            self.memory.lane(lane).tail() - seen.get() + reserved < RING as u64
        };
        if !self.seen.iter().enumerate().all(has_room) {
            return None;
        }
        let slot = self.free.borrow_mut().pop()?;
        self.reserved.set(reserved + 1);
        self.used.set(self.used.get().max(slot + 1));
        Some(Reserved(slot))
    }

    #[cfg(test)]
    pub(crate) fn free_slots(&self) -> usize {
        self.free.borrow().len()
    }

    /// At most [`crate::ROOM`] bytes.
    pub fn write(&self, slot: &Reserved, bytes: &[u8]) {
        self.memory.write(slot.0, bytes);
    }

    /// For whoever claims it.
    pub fn post(&self, slot: Reserved, lane: Lane) -> Order {
        let order = Order {
            slot: slot.0,
            number: self.next.replace(self.next.get().wrapping_add(1)),
        };
        self.reserved.set(self.reserved.get() - 1);
        self.memory.state(order).store(posted(order.number), SeqCst);
        self.memory.lane(lane as usize).append(order);
        order
    }

    /// It is not to be claimed any more, and its slot is free; false if a worker has it already.
    pub fn take_back(&self, order: Order) -> bool {
        let state = self.memory.state(order);
        let mine = state
            .compare_exchange(posted(order.number), 0, SeqCst, SeqCst)
            .is_ok();
        if mine {
            self.free.borrow_mut().push(order.slot);
        }
        mine
    }

    /// Nobody waits for its answer. The worker that has it, to be woken; [`News`] come all the same.
    pub fn cancel(&self, order: Order) -> Option<u16> {
        let before = self.memory.state(order).fetch_or(CANCELLED, SeqCst);
        self.signal(before)
    }

    /// The worker that has a request of this state, which has changed, is to look at it.
    fn signal(&self, state: u64) -> Option<u16> {
        let is_claimed = state & (CLAIMED | ENDED) == CLAIMED;
        let seat = Some(seat_of(state)).filter(|seat| is_claimed && usize::from(*seat) < SEATS)?;
        let signals = self.memory.seat(seat, SEAT_SIGNALS);
        signals.store(signals.load(Relaxed).wrapping_add(1), SeqCst);
        Some(seat)
    }

    /// Whether its client reads more slowly than the answer comes. If that is new, the worker that has it, to be woken.
    pub fn hold(&self, order: Order, is_held: bool) -> Option<u16> {
        let state = self.memory.state(order);
        let before = match is_held {
            true => state.fetch_or(HELD, SeqCst),
            false => state.fetch_and(!HELD, SeqCst),
        };
        let is_news = (before & HELD != 0) != is_held;
        is_news.then(|| self.signal(before)).flatten()
    }

    /// How long ago it was claimed.
    pub fn claimed_for(&self, order: Order) -> Duration {
        let since = self.memory.slot(order.slot)[SLOT_SINCE].load(Relaxed);
        Duration::from_nanos(now().saturating_sub(since))
    }

    /// Who has it.
    pub fn holder(&self, order: Order) -> Option<u16> {
        let state = self.memory.state(order).load(SeqCst);
        (state & CLAIMED != 0 && number(state) == order.number).then_some(seat_of(state))
    }

    /// Append its answer to `to`.
    pub fn read(&self, order: Order, to: &mut Vec<u8>) {
        self.memory.read(order.slot, to);
    }

    /// It has ended, or its worker is dead, and there is nothing more to read.
    pub fn free(&self, order: Order) {
        self.memory.state(order).store(0, SeqCst);
        self.free.borrow_mut().push(order.slot);
    }

    /// Look at all that was answered or has ended since the last look.
    pub fn news(&self, mut look: impl FnMut(News)) {
        let mut last = self.memory.word(AT_NEWS).load(SeqCst);
        if last != 0 {
            last = self.memory.word(AT_NEWS).swap(0, SeqCst);
        }
        let mut found = Vec::new();
        while let Some(slot) = last
            .checked_sub(1)
            .and_then(|slot| u16::try_from(slot).ok())
            .filter(|slot| usize::from(*slot) < SLOTS && found.len() < SLOTS)
        {
            found.push(slot);
            last = self.memory.slot(slot)[SLOT_NEXT].load(SeqCst);
        }
        // The list begins with the last.
        for slot in found.into_iter().rev() {
            let state = &self.memory.slot(slot)[crate::layout::SLOT_STATE];
            let before = state.fetch_and(!LISTED, SeqCst);
            if before & LISTED != 0 {
                look(News::of(slot, before));
            }
        }
    }

    /// What the worker at this seat had when it died. Look at the news first.
    pub fn held_by(&self, seat: u16) -> Vec<News> {
        let state = |slot| (slot, self.memory.slot(slot)[0].load(SeqCst));
        (0..self.used.get())
            .map(state)
            .filter(|(_, state)| state & CLAIMED != 0 && seat_of(*state) == seat)
            .map(|(slot, state)| News::of(slot, state))
            .collect()
    }

    /// Look at all that are not in the queue any more since the last look.
    pub fn passed(&self, mut look: impl FnMut(Order)) {
        for (lane, seen) in self.seen.iter().enumerate() {
            let lane = self.memory.lane(lane);
            self.trim(&lane);
            let head = lane.head();
            while seen.get() < head {
                if let Some(order) = lane.entry(seen.get()) {
                    look(order);
                }
                seen.set(seen.get() + 1);
            }
        }
    }

    /// What was taken back need not wait for a worker to pass it.
    fn trim(&self, lane: &crate::memory::Lane<'_>) {
        loop {
            let head = lane.head();
            let gone = head < lane.tail()
                && lane.entry(head).is_none_or(|order| {
                    self.memory.state(order).load(SeqCst) != posted(order.number)
                });
            if !gone {
                return;
            }
            lane.pass(head);
        }
    }

    // ---- workers ----

    /// A seat for a worker; `None` if all are taken.
    pub fn seat(&self) -> Option<u16> {
        let mut seats = self.seats.borrow_mut();
        let taken = Place::Taken {
            woken: 0,
            claims: 0,
        };
        let free = seats.iter().position(|place| *place == Place::Free);
        let at = free.unwrap_or(seats.len());
        if at == SEATS {
            return None;
        }
        if at == seats.len() {
            seats.push(taken);
        } else {
            seats[at] = taken;
        }
        let seat = u16::try_from(at).ok()?;
        for at in [
            SEAT_CLOSED,
            SEAT_CLAIMS,
            SEAT_SINCE,
            SEAT_ROOM,
            SEAT_SIGNALS,
        ] {
            self.memory.seat(seat, at).store(0, SeqCst);
        }
        Some(seat)
    }

    /// Its worker gets nothing more; what it has it keeps.
    pub fn close(&self, seat: u16) {
        self.memory.seat(seat, SEAT_CLOSED).store(1, SeqCst);
        let (word, bit) = self.memory.sleeping(seat);
        word.fetch_and(!bit, SeqCst);
        self.seats.borrow_mut()[usize::from(seat)] = Place::Closed;
    }

    /// Its worker is gone.
    pub fn leave(&self, seat: u16) {
        self.close(seat);
        self.seats.borrow_mut()[usize::from(seat)] = Place::Free;
    }

    fn is_asleep(&self, seat: usize) -> bool {
        let (word, bit) = self.memory.sleeping(seat as u16);
        word.load(SeqCst) & bit != 0
    }

    /// How many requests can be begun at once: the room of workers that sleep, and of those that were woken and have not
    /// claimed yet.
    pub fn room(&self) -> usize {
        let seats = self.seats.borrow();
        let idle = seats
            .iter()
            .enumerate()
            .filter(|(seat, place)| match place {
                Place::Taken { woken, claims } => {
                    self.is_asleep(*seat) || *woken != 0 && self.claims(*seat) == *claims
                }
                _ => false,
            });
        idle.map(|(seat, _)| self.room_of(seat)).sum()
    }

    fn room_of(&self, seat: usize) -> usize {
        let room = self.memory.seat(seat as u16, SEAT_ROOM).load(Relaxed);
        usize::try_from(room).unwrap_or(usize::MAX).min(SLOTS)
    }

    fn claims(&self, seat: usize) -> u64 {
        self.memory.seat(seat as u16, SEAT_CLAIMS).load(SeqCst)
    }

    /// How many of the workers that do not sleep have begun with something, or were woken, less than so many nanoseconds
    /// ago; and how many sleep.
    pub fn active(&self, patience: u64) -> (usize, usize) {
        let (mut active, mut asleep, now) = (0, 0, now());
        for (seat, place) in self.seats.borrow().iter().enumerate() {
            let Place::Taken { woken, .. } = place else {
                continue;
            };
            let since = self.memory.seat(seat as u16, SEAT_SINCE).load(Relaxed);
            if self.is_asleep(seat) {
                asleep += 1;
            } else if now.saturating_sub(since.max(*woken)) < patience {
                active += 1;
            }
        }
        (active, asleep)
    }

    /// How many workers compute.
    pub fn computing(&self) -> usize {
        let seats = self.seats.borrow();
        let runs = |seat: usize| self.memory.seat(seat as u16, SEAT_RUNS).load(Relaxed) != 0;
        let taken = |seat: &usize| !matches!(seats[*seat], Place::Free);
        (0..seats.len())
            .filter(taken)
            .filter(|seat| runs(*seat))
            .count()
    }

    /// A worker that sleeps, to be woken now: the one with the fewest requests, because one that computes delays all that
    /// its worker has; among equals the first, so that few of them stay warm.
    pub fn wake(&self) -> Option<u16> {
        loop {
            let seat = self.emptiest()?;
            let (word, bit) = self.memory.sleeping(seat);
            if word.fetch_and(!bit, SeqCst) & bit == 0 {
                // It woke of itself meanwhile.
                continue;
            }
            let claims = self.claims(usize::from(seat));
            self.seats.borrow_mut()[usize::from(seat)] = Place::Taken {
                woken: now(),
                claims,
            };
            return Some(seat);
        }
    }

    fn emptiest(&self) -> Option<u16> {
        let seats = self.seats.borrow();
        let asleep = (0..seats.len())
            .rev()
            .filter(|seat| matches!(seats[*seat], Place::Taken { .. }) && self.is_asleep(*seat));
        // The last of the greatest, and so the first seat.
        let seat = asleep.max_by_key(|seat| self.room_of(*seat))?;
        u16::try_from(seat).ok()
    }

    // ---- sleep ----

    /// About to wait; false if there is news instead.
    pub fn sleep(&self) -> bool {
        let front = self.memory.word(AT_FRONT);
        front.store(ASLEEP, SeqCst);
        let quiet = self.memory.word(AT_NEWS).load(SeqCst) == 0;
        if !quiet {
            front.store(AWAKE, SeqCst);
        }
        quiet
    }

    /// It waits no more.
    pub fn rise(&self) {
        self.memory.word(AT_FRONT).store(AWAKE, SeqCst);
    }
}
