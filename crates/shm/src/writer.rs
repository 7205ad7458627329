//! The worker's side of a scoreboard: a few plain stores per request.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::latencies::ResponseClass;
use crate::layout::*;
use crate::mapping::Mapping;
use crate::quarantine::Suspect;

/// A request that has begun; it is passed to [`Writer::end`].
#[derive(Debug)]
#[must_use = "a request that is not ended stays in flight for ever"]
pub struct Ticket(u32);

const UNLISTED: u32 = u32::MAX;

/// The description of a request that begins.
#[derive(Debug, Clone, Copy)]
pub struct Begins<'a> {
    pub method: &'a [u8],
    pub target: &'a [u8],
    /// The id that names the request in the log.
    pub id: u64,
    /// The data by which the request is recognized if its worker dies.
    pub suspect: Suspect,
}

/// The one writer of a scoreboard. It is bound to one thread, because its stores are not read-modify-write.
#[derive(Debug)]
pub struct Writer {
    mapping: Mapping,
    latencies: usize,
    /// The free rows; filled once, never grows.
    free: RefCell<Vec<u32>>,
    one_thread: PhantomData<*const ()>,
}

impl Writer {
    /// Attaches to the scoreboard behind a descriptor that came with `Fork`.
    pub fn attach(fd: OwnedFd) -> io::Result<Writer> {
        let mapping = Mapping::of(&fd)?;
        let slots = check(&mapping)?;
        let free = RefCell::new((0..slots).rev().collect());
        Ok(Writer {
            mapping,
            latencies: latencies(slots),
            free,
            one_thread: PhantomData,
        })
    }

    /// Notes that a request has begun.
    #[inline]
    pub fn begin(&self, begins: Begins<'_>) -> Ticket {
        self.count(Counter::Requests, 1);
        let mut ticket = Ticket(UNLISTED);
        self.list(&mut ticket, begins);
        if ticket.0 == UNLISTED {
            self.count(Counter::Unlisted, 1);
        }
        ticket
    }

    /// Lists a request that found no free row when it began, and that runs now.
    #[inline]
    pub fn list(&self, ticket: &mut Ticket, begins: Begins<'_>) {
        if ticket.0 == UNLISTED
            && let Some(slot) = self.free.borrow_mut().pop()
        {
            self.write(slot, begins);
            *ticket = Ticket(slot);
        }
    }

    #[inline]
    fn write(&self, slot: u32, begins: Begins<'_>) {
        let row = self.row(slot);
        let sequence = row[ROW_SEQUENCE].load(Ordering::Relaxed);
        row[ROW_SEQUENCE].store(sequence | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        row[ROW_ID].store(begins.id, Ordering::Relaxed);
        let method = &begins.method[..begins.method.len().min(MAX_METHOD)];
        let kept = &begins.target[..begins.target.len().min(MAX_TARGET)];
        let cut = u64::from(kept.len() < begins.target.len());
        let lengths = method.len() as u64 | (kept.len() as u64) << 8 | cut << 16;
        row[ROW_LENGTHS].store(lengths, Ordering::Relaxed);
        let suspect = begins.suspect;
        row[ROW_FINGERPRINT].store(suspect.fingerprint, Ordering::Relaxed);
        let epoch = suspect.epoch << 1 | u64::from(suspect.again);
        row[ROW_EPOCH].store(epoch, Ordering::Relaxed);
        store_bytes(&row[ROW_METHOD..ROW_FINGERPRINT], method);
        store_bytes(&row[ROW_TARGET..], kept);
        row[ROW_START].store(now(), Ordering::Relaxed);
        row[ROW_SEQUENCE].store((sequence | 1).wrapping_add(1), Ordering::Release);
    }

    /// Returns the fingerprint that the request began with; 0 if it has no row.
    pub fn fingerprint(&self, ticket: &Ticket) -> u64 {
        match ticket.0 {
            UNLISTED => 0,
            row => self.row(row)[ROW_FINGERPRINT].load(Ordering::Relaxed),
        }
    }

    /// Notes that the request of this id computes, until [`Writer::rests`].
    #[inline]
    pub fn computes(&self, id: u64) {
        self.mapping[AT_COMPUTES].store(id, Ordering::Relaxed);
    }

    /// Notes that no request computes.
    #[inline]
    pub fn rests(&self) {
        self.computes(0);
    }

    /// Notes that the request has ended with this status; 0 if no response was sent.
    #[inline]
    pub fn end(&self, ticket: Ticket, status: u16) {
        self.count(class(status), 1);
        self.count(Counter::Finished, 1);
        if ticket.0 != UNLISTED {
            self.row(ticket.0)[ROW_START].store(0, Ordering::Release);
            self.free.borrow_mut().push(ticket.0);
        }
    }

    /// Counts a request that got a response without a worker, and was never in flight.
    #[cold]
    pub fn answered(&self, status: u16) {
        for counter in [Counter::Requests, class(status), Counter::Finished] {
            self.count(counter, 1);
        }
    }

    /// Counts the latency of a request of this route; `status` is `None` if the client left before a response began.
    #[inline]
    pub fn took(&self, route: usize, status: Option<u16>, time: Duration) {
        let class = ResponseClass::of(status);
        crate::latencies::count(&self.mapping, self.latencies, (route, class), time);
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&self, counter: Counter, n: u64) {
        let word = &self.mapping[AT_COUNTERS + counter as usize];
        // There is one writer, so a load and a store are enough, and avoid a locked instruction.
        word.store(
            word.load(Ordering::Relaxed).wrapping_add(n),
            Ordering::Relaxed,
        );
    }

    /// Returns the value of a counter, for the worker's own decisions.
    pub fn value(&self, counter: Counter) -> u64 {
        self.mapping[AT_COUNTERS + counter as usize].load(Ordering::Relaxed)
    }

    fn row(&self, slot: u32) -> &[AtomicU64] {
        let start = HEADER + slot as usize * ROW;
        &self.mapping[start..start + ROW]
    }
}

#[inline]
fn class(status: u16) -> Counter {
    match status {
        100..200 => Counter::Responses1xx,
        200..300 => Counter::Responses2xx,
        300..400 => Counter::Responses3xx,
        400..500 => Counter::Responses4xx,
        500..600 => Counter::Responses5xx,
        _ => Counter::Aborted,
    }
}

/// Returns the number of slots, if this is a scoreboard of this version.
pub(crate) fn check(mapping: &Mapping) -> io::Result<u32> {
    let bad = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let magic = mapping[AT_MAGIC].load(Ordering::Acquire);
    if magic != MAGIC {
        return bad(format!(
            "not a scoreboard of this version (it begins with {magic:#018x}, not {MAGIC:#018x})"
        ));
    }
    let slots = mapping[AT_SLOTS].load(Ordering::Relaxed);
    match u32::try_from(slots) {
        Ok(slots) if slots <= MAX_SLOTS && mapping.len() == words(slots) => Ok(slots),
        _ => bad(format!(
            "a scoreboard of {} words that claims {slots} rows",
            mapping.len()
        )),
    }
}

pub(crate) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
        .max(1)
}

fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (word, part) in words.iter().zip(whole) {
        word.store(u64::from_le_bytes(*part), Ordering::Relaxed);
    }
    if let Some(word) = words.get(whole.len())
        && !rest.is_empty()
    {
        let bytes = rest.iter().rev();
        let last = bytes.fold(0, |last, byte| last << 8 | u64::from(*byte));
        word.store(last, Ordering::Relaxed);
    }
}
