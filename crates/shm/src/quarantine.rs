//! Requests that killed workers, in memory shared by the supervisor and all workers: a request that killed two workers is
//! not run again for a while.
//!
//! A request is identified by a [`Fingerprint`] that its worker writes to its scoreboard. When a worker dies of a signal,
//! the supervisor looks up which request computed there, and notes its fingerprint ([`Quarantine::blame`]). Workers check a
//! request before they run it ([`Quarantine::refuses`]), and remove its fingerprint when such a request has ended well
//! ([`Quarantine::acquit`]): then the death had another cause, such as a signal from outside.
//!
//! Fingerprints are keyed with a secret of this server, so a fingerprint in a log reveals nothing about the request.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::mapping::{self, Mapping};
use crate::writer::now;

/// How long a death is remembered, and a request is refused.
const TIME: Duration = Duration::from_secs(60);
/// The number of requests that are remembered; the one whose time ends first makes room.
const ENTRIES: usize = 64;
const AT_SECRET: usize = 1;
/// The position of the epoch: the number of deaths noted so far.
const AT_EPOCH: usize = 3;
const AT_ENTRIES: usize = 8;
/// The number of words of an entry: fingerprint, epoch of the first death, end of its time, number of deaths.
const ENTRY: usize = 4;
const MAGIC: u64 = u64::from_le_bytes(*b"HQUARA\x01\x00");
/// The number of deaths after which a request is refused.
const DEATHS: u64 = 2;

/// The shared table. One process does all writes except those of [`Quarantine::acquit`].
#[derive(Debug)]
pub struct Quarantine {
    mapping: Mapping,
}

/// A request that may have killed its worker, and when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suspect {
    pub fingerprint: u64,
    /// The [`Quarantine::epoch`] when the request began.
    pub epoch: u64,
    /// Whether the request began after a worker had died with it.
    pub again: bool,
}

/// The fingerprint of a request, while the parts of the request are added.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint {
    state: u64,
    key: u64,
}

impl Fingerprint {
    /// Adds a part of the request; its length counts too.
    #[inline]
    pub fn add(&mut self, part: &[u8]) {
        let (words, rest) = part.as_chunks::<8>();
        for word in words {
            self.state = mix(self.state ^ u64::from_le_bytes(*word), self.key);
        }
        // The last eight bytes again, or the few that there are, with the length in the top byte.
        let tail = match part.last_chunk::<8>() {
            Some(last) => u64::from_le_bytes(*last),
            None => rest
                .iter()
                .fold(0, |tail, byte| tail << 8 | u64::from(*byte)),
        };
        let tail = tail ^ (part.len() as u64) << 56;
        self.state = mix(self.state ^ tail, self.key.rotate_left(32));
    }

    /// Returns the fingerprint, which is never 0.
    #[inline]
    #[must_use]
    pub fn finish(self) -> u64 {
        self.state.max(1)
    }
}

impl Quarantine {
    /// Creates the memory of a table; each process maps it with [`Quarantine::map`].
    pub fn create(secret: [u64; 2]) -> io::Result<OwnedFd> {
        let fd = mapping::create_file(c"hearth-quarantine", AT_ENTRIES + ENTRIES * ENTRY)?;
        let mapping = Mapping::of(&fd)?;
        mapping[AT_SECRET].store(secret[0], Ordering::Relaxed);
        mapping[AT_SECRET + 1].store(secret[1] | 1, Ordering::Relaxed);
        mapping[0].store(MAGIC, Ordering::Release);
        Ok(fd)
    }

    pub fn map(fd: &OwnedFd) -> io::Result<Quarantine> {
        let mapping = Mapping::of(fd)?;
        let is_one = mapping.len() == AT_ENTRIES + ENTRIES * ENTRY
            && mapping[0].load(Ordering::Acquire) == MAGIC;
        is_one
            .then_some(Quarantine { mapping })
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is not a quarantine"))
    }

    /// Returns the fingerprint of a request, to which the request's parts are then added.
    #[inline]
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            state: self.word(AT_SECRET),
            key: self.word(AT_SECRET + 1),
        }
    }

    /// Returns the number of deaths noted so far, which a request that begins now remembers.
    #[inline]
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.word(AT_EPOCH)
    }

    /// Returns for how long the request is still refused; `None` if it may run.
    #[must_use]
    pub fn refuses(&self, fingerprint: u64) -> Option<Duration> {
        let entry = self.find(fingerprint)?;
        let is_refused = entry[3].load(Ordering::Acquire) >= DEATHS;
        let left = entry[2].load(Ordering::Relaxed).saturating_sub(now());
        is_refused.then(|| Duration::from_nanos(left))
    }

    /// Notes that the request has ended and its worker lives. One death that it was blamed for is forgotten, two are not.
    pub fn acquit(&self, fingerprint: u64) {
        if let Some(entry) = self.find(fingerprint) {
            let _ = entry[3].compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Notes that a worker died of a signal while this request computed. Returns true if the request is refused from now on.
    ///
    /// `from_outside`: another process may have sent the signal, and may have sent it to several workers at once. Then a
    /// second death proves nothing about a request that had begun before the first one.
    pub fn blame(&self, suspect: Suspect, from_outside: bool) -> bool {
        let epoch = self.epoch() + 1;
        let Some(entry) = self.find(suspect.fingerprint) else {
            self.note(suspect, epoch);
            return false;
        };
        let began_before = suspect.epoch < entry[1].load(Ordering::Relaxed) && !suspect.again;
        if from_outside && began_before {
            return false;
        }
        entry[2].store(end(), Ordering::Relaxed);
        let deaths = entry[3].fetch_add(1, Ordering::AcqRel) + 1;
        deaths == DEATHS
    }

    /// Returns whether no entry is valid any more.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let now = now();
        let mut entries = self.entries();
        !entries.any(|entry| {
            entry[3].load(Ordering::Relaxed) > 0 && entry[2].load(Ordering::Relaxed) > now
        })
    }

    /// Forgets all deaths, because other code runs from now on.
    pub fn clear(&self) {
        self.entries()
            .for_each(|entry| entry[2].store(0, Ordering::Release));
    }

    fn note(&self, suspect: Suspect, epoch: u64) {
        let oldest = self
            .entries()
            .min_by_key(|entry| entry[2].load(Ordering::Relaxed))
            .expect("there are some");
        oldest[3].store(0, Ordering::Release);
        oldest[0].store(suspect.fingerprint, Ordering::Relaxed);
        // With `again`, the report of the first death may come after this one.
        let since = if suspect.again { 0 } else { epoch };
        oldest[1].store(since, Ordering::Relaxed);
        oldest[2].store(end(), Ordering::Relaxed);
        oldest[3].store(1, Ordering::Release);
        self.mapping[AT_EPOCH].store(epoch, Ordering::Release);
    }

    fn find(&self, fingerprint: u64) -> Option<&[AtomicU64]> {
        let (now, mut entries) = (now(), self.entries());
        entries.find(|entry| {
            entry[0].load(Ordering::Relaxed) == fingerprint
                && entry[3].load(Ordering::Acquire) > 0
                && entry[2].load(Ordering::Relaxed) > now
        })
    }

    fn entries(&self) -> impl Iterator<Item = &[AtomicU64]> {
        self.mapping[AT_ENTRIES..].chunks_exact(ENTRY)
    }

    fn word(&self, at: usize) -> u64 {
        self.mapping[at].load(Ordering::Relaxed)
    }
}

fn end() -> u64 {
    now().saturating_add(u64::try_from(TIME.as_nanos()).unwrap_or(u64::MAX))
}

/// Multiplies, and combines both halves of the product: every bit of `a` changes about half of the result's.
#[inline]
fn mix(a: u64, key: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(key);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Quarantine {
        Quarantine::map(&Quarantine::create([7, 0x1234_5678_9abc_def1]).unwrap()).unwrap()
    }

    fn fingerprint(table: &Quarantine, parts: &[&[u8]]) -> u64 {
        let mut fingerprint = table.fingerprint();
        parts.iter().for_each(|part| fingerprint.add(part));
        fingerprint.finish()
    }

    fn suspect(table: &Quarantine, target: &[u8]) -> Suspect {
        Suspect {
            fingerprint: fingerprint(table, &[b"GET", target]),
            epoch: table.epoch(),
            again: false,
        }
    }

    #[test]
    fn two_deaths_and_it_is_refused_and_no_other() {
        let table = table();
        for from_outside in [false, true] {
            let target: &[u8] = if from_outside { b"/a" } else { b"/b" };
            assert!(!table.blame(suspect(&table, target), from_outside));
            let it = suspect(&table, target);
            assert_eq!(table.refuses(it.fingerprint), None);
            assert!(table.blame(it, from_outside));
            let left = table.refuses(it.fingerprint).expect("it is refused");
            assert!(left > TIME / 2 && left <= TIME);
        }
        assert_eq!(table.refuses(suspect(&table, b"/c").fingerprint), None);
        assert!(!table.is_empty());
        table.clear();
        assert!(table.is_empty());
        assert_eq!(table.refuses(suspect(&table, b"/a").fingerprint), None);
    }

    #[test]
    fn one_that_ends_well_in_between_is_not_guilty() {
        let table = table();
        for _ in 0..10 {
            let it = suspect(&table, b"/");
            assert!(!table.blame(it, false));
            table.acquit(it.fingerprint);
        }
        let it = suspect(&table, b"/");
        table.blame(it, false);
        assert!(table.blame(suspect(&table, b"/"), false));
        table.acquit(it.fingerprint);
        assert!(table.refuses(it.fingerprint).is_some());
    }

    #[test]
    fn workers_that_are_killed_together_prove_nothing() {
        let table = table();
        let it = suspect(&table, b"/");
        assert!(!(0..8).any(|_| table.blame(it, true)));
        assert_eq!(table.refuses(it.fingerprint), None);
        // There is no such doubt about a crash, nor if the front gave the request to a second worker.
        assert!(table.blame(Suspect { again: true, ..it }, true));
        // Whichever of the two deaths is reported first.
        let it = suspect(&table, b"/other");
        assert!(!table.blame(Suspect { again: true, ..it }, true));
        assert!(table.blame(it, true));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let table = table();
        for n in 0..1000_u32 {
            table.blame(suspect(&table, &n.to_le_bytes()), false);
        }
        let known = (0..1000_u32).filter(|n| {
            let fingerprint = suspect(&table, &n.to_le_bytes()).fingerprint;
            table.find(fingerprint).is_some()
        });
        assert_eq!(known.count(), ENTRIES);
    }

    #[test]
    fn fingerprints_tell_parts_apart_and_need_the_secret() {
        let table = table();
        let of = |parts: &[&'static [u8]]| fingerprint(&table, parts);
        assert_eq!(of(&[b"GET", b"/"]), of(&[b"GET", b"/"]));
        let all = [
            of(&[b"GET", b"/"]),
            of(&[b"GET/"]),
            of(&[b"GET", b"/", b""]),
            of(&[b"GET", b"", b"/"]),
            of(&[b"GET", b"/\0"]),
            of(&[b"GET", b"/longer than a word"]),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let other = Quarantine::map(&Quarantine::create([8, 9]).unwrap()).unwrap();
        assert_ne!(fingerprint(&other, &[b"GET", b"/"]), all[0]);
    }
}
