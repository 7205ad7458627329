//! The supervisor's side of a scoreboard: creates it, and reads it in any state that the worker left it in.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::latencies::Latencies;
use crate::layout::*;
use crate::mapping::{self, Mapping};
use crate::quarantine::Suspect;
use crate::writer::now;

/// The scoreboard of one worker. Its descriptor is sent to the worker with `Fork`.
#[derive(Debug)]
pub struct Scoreboard {
    fd: OwnedFd,
    mapping: Mapping,
    slots: u32,
}

/// All counters at one moment. They are read one after the other, so sums may differ by one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot([u64; Counter::ALL.len()]);

/// A request that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    pub id: u64,
    pub method: String,
    /// The first [`MAX_TARGET`] bytes, with invalid UTF-8 replaced.
    pub target: String,
    /// Whether the target was longer.
    pub cut: bool,
    /// The time since the request began; the clock ticks every few milliseconds.
    pub age: Duration,
    /// Whether the row was half-written, so that its texts may mix two requests. In a living worker that lasts a moment; a
    /// dead worker died while the request began.
    pub torn: bool,
    pub suspect: Suspect,
}

impl InFlight {
    /// Returns the target without its query.
    #[must_use]
    pub fn route(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        let is_cut = self.cut && path.len() == self.target.len();
        format!("{path}{}", if is_cut { "…" } else { "" })
    }
}

impl Scoreboard {
    /// Creates a scoreboard with room for `slots` requests in flight.
    pub fn create(slots: u32) -> io::Result<Scoreboard> {
        let slots = slots.clamp(1, MAX_SLOTS);
        let fd = mapping::create_file(c"hearth-scoreboard", words(slots))?;
        let mapping = Mapping::of(&fd)?;
        mapping[AT_SLOTS].store(u64::from(slots), Ordering::Relaxed);
        mapping[AT_MAGIC].store(MAGIC, Ordering::Release);
        Ok(Scoreboard { fd, mapping, slots })
    }

    pub fn snapshot(&self) -> Snapshot {
        let mut values = [0; Counter::ALL.len()];
        for (value, word) in values.iter_mut().zip(&self.mapping[AT_COUNTERS..]) {
            *value = word.load(Ordering::Relaxed);
        }
        Snapshot(values)
    }

    /// Returns the histograms of latencies.
    pub fn latencies(&self) -> Latencies {
        Latencies::read(&self.mapping, latencies(self.slots))
    }

    /// Returns the request whose code runs, or ran when the worker died; `None` if all requests waited.
    pub fn computing(&self) -> Option<InFlight> {
        let id = self.mapping[AT_COMPUTES].load(Ordering::Relaxed);
        let mut requests = self.in_flight().into_iter();
        requests.find(|request| request.id == id && id != 0)
    }

    /// Returns the requests in flight, oldest first.
    pub fn in_flight(&self) -> Vec<InFlight> {
        let now = now();
        let rows = self.mapping[HEADER..]
            .chunks_exact(ROW)
            .take(self.slots as usize);
        let mut found: Vec<InFlight> = rows.filter_map(|row| read_row(row, now)).collect();
        found.sort_by_key(|request| std::cmp::Reverse(request.age));
        found
    }
}

impl AsFd for Scoreboard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Snapshot {
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    pub fn in_flight(&self) -> u64 {
        self.get(Counter::Requests)
            .saturating_sub(self.get(Counter::Finished))
    }

    pub fn connections(&self) -> u64 {
        self.get(Counter::ConnectionsOpened)
            .saturating_sub(self.get(Counter::ConnectionsClosed))
    }

    /// Returns the number of requests that wait for a worker.
    pub fn waiting(&self) -> u64 {
        self.get(Counter::Queued)
            .saturating_sub(self.get(Counter::Unqueued))
    }

    /// Settles the counters of a worker that has exited: every request or connection that has begun has ended.
    pub fn settle(&mut self, begun: Counter, ended: Counter) {
        self.0[ended as usize] = self.0[begun as usize];
    }

    /// Adds the counters of another worker, living or dead.
    pub fn add(&mut self, other: &Snapshot) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.wrapping_add(theirs);
        }
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Snapshot([0; Counter::ALL.len()])
    }
}

/// The number of attempts to read a row. A living worker is seldom in the middle of a write twice; a dead one always is.
const ATTEMPTS: usize = 8;

fn read_row(row: &[AtomicU64], now: u64) -> Option<InFlight> {
    for _ in 1..ATTEMPTS {
        let (torn, request) = read_once(row, now);
        if !torn {
            return request;
        }
        std::hint::spin_loop();
    }
    let (torn, request) = read_once(row, now);
    request.map(|request| InFlight { torn, ..request })
}

fn read_once(row: &[AtomicU64], now: u64) -> (bool, Option<InFlight>) {
    let before = row[ROW_SEQUENCE].load(Ordering::Acquire);
    let start = row[ROW_START].load(Ordering::Relaxed);
    let half_written = before & 1 == 1;
    if start == 0 && !half_written {
        return (false, None);
    }
    let id = row[ROW_ID].load(Ordering::Relaxed);
    let lengths = row[ROW_LENGTHS].load(Ordering::Relaxed);
    let method = load_bytes(&row[ROW_METHOD..ROW_FINGERPRINT], (lengths & 0xff) as usize);
    let target = load_bytes(&row[ROW_TARGET..], (lengths >> 8 & 0xff) as usize);
    let epoch = row[ROW_EPOCH].load(Ordering::Relaxed);
    let suspect = Suspect {
        fingerprint: row[ROW_FINGERPRINT].load(Ordering::Relaxed),
        epoch: epoch >> 1,
        again: epoch & 1 == 1,
    };
    fence(Ordering::Acquire);
    let torn = half_written || row[ROW_SEQUENCE].load(Ordering::Relaxed) != before;
    // The row is half-written and has no start time yet, so the request began just now.
    let age = if start == 0 {
        0
    } else {
        now.saturating_sub(start)
    };
    let age = Duration::from_nanos(age);
    (
        torn,
        Some(InFlight {
            id,
            method,
            target,
            cut: lengths >> 16 & 1 == 1,
            age,
            torn,
            suspect,
        }),
    )
}

fn load_bytes(words: &[AtomicU64], length: usize) -> String {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
        .collect();
    String::from_utf8_lossy(&bytes[..length.min(bytes.len())]).into_owned()
}

#[cfg(test)]
mod tests;
