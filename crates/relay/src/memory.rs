//! The shared memory as both sides see it: slots, rings, consumers.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use rustix::time::{ClockId, clock_gettime};

use crate::layout::*;
use crate::words::{AtomicU64, Words};

/// The key of one request: its slot and its sequence number. A slot is reused with another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub slot: u16,
    pub seq: u32,
}

impl RequestKey {
    pub(crate) fn entry(self) -> u64 {
        u64::from(self.seq) << 32 | u64::from(self.slot)
    }

    /// `None` if the entry is invalid.
    pub(crate) fn of_entry(entry: u64) -> Option<RequestKey> {
        let slot = entry as u16;
        (usize::from(slot) < SLOTS).then_some(RequestKey {
            slot,
            seq: (entry >> 32) as u32,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Memory(Words);

impl Memory {
    pub(crate) fn create() -> io::Result<(Memory, OwnedFd)> {
        let fd = shm::create_file(c"hearth-relay", WORDS)?;
        let memory = Memory(crate::words::of(&fd)?);
        memory.word(AT_MAGIC).store(MAGIC, Release);
        Ok((memory, fd))
    }

    pub(crate) fn of(fd: &OwnedFd) -> io::Result<Memory> {
        let memory = Memory(crate::words::of(fd)?);
        if memory.0.len() != WORDS || memory.word(AT_MAGIC).load(Acquire) != MAGIC {
            let what = "this is not a front's memory";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(memory)
    }

    #[cfg(all(test, feature = "model"))]
    pub(crate) fn share(&self) -> Memory {
        Memory(std::sync::Arc::clone(&self.0))
    }

    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.0[at]
    }

    pub(crate) fn ring(&self, ring: usize) -> Ring<'_> {
        let start = AT_RINGS + ring * RING_WORDS;
        Ring(&self.0[start..start + RING_WORDS])
    }

    pub(crate) fn sleeping(&self, consumer: u16) -> (&AtomicU64, u64) {
        let consumer = usize::from(consumer);
        (self.word(AT_SLEEPING + consumer / 64), 1 << (consumer % 64))
    }

    pub(crate) fn consumer(&self, consumer: u16, at: usize) -> &AtomicU64 {
        self.word(AT_CONSUMERS + usize::from(consumer) * CONSUMER_WORDS + at)
    }

    pub(crate) fn slot(&self, slot: u16) -> &[AtomicU64] {
        let start = AT_SLOTS + usize::from(slot) * SLOT;
        &self.0[start..start + SLOT]
    }

    pub(crate) fn state(&self, key: RequestKey) -> &AtomicU64 {
        &self.slot(key.slot)[SLOT_STATE]
    }

    /// Writes the bytes of a slot. Only the side that has the slot may write; the change of the slot's state publishes them.
    pub(crate) fn write(&self, slot: u16, bytes: &[u8]) {
        let words = self.slot(slot);
        assert!(
            bytes.len() <= SLOT_CAPACITY,
            "{} bytes in one slot",
            bytes.len()
        );
        words[SLOT_LENGTH].store(bytes.len() as u64, Relaxed);
        let (whole, rest) = bytes.as_chunks::<8>();
        for (word, eight) in words[SLOT_HEADER..].iter().zip(whole) {
            word.store(u64::from_le_bytes(*eight), Relaxed);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            words[SLOT_HEADER + whole.len()].store(u64::from_le_bytes(last), Relaxed);
        }
    }

    /// Appends the bytes of a slot to `to`.
    pub(crate) fn read(&self, slot: u16, to: &mut Vec<u8>) {
        let words = self.slot(slot);
        let length = usize::try_from(words[SLOT_LENGTH].load(Relaxed)).unwrap_or(0);
        let length = length.min(SLOT_CAPACITY);
        let begin = to.len();
        to.resize(begin + length.next_multiple_of(8), 0);
        let (eights, _) = to[begin..].as_chunks_mut::<8>();
        for (eight, word) in eights.iter_mut().zip(&words[SLOT_HEADER..]) {
            *eight = word.load(Relaxed).to_le_bytes();
        }
        to.truncate(begin + length);
    }
}

/// A queue: one process appends, any number of processes take.
pub(crate) struct Ring<'a>(&'a [AtomicU64]);

impl Ring<'_> {
    pub(crate) fn head(&self) -> u64 {
        self.0[RING_HEAD].load(SeqCst)
    }

    pub(crate) fn tail(&self) -> u64 {
        self.0[RING_TAIL].load(SeqCst)
    }

    pub(crate) fn entry(&self, at: u64) -> Option<RequestKey> {
        RequestKey::of_entry(self.0[RING_ENTRIES + at as usize % RING_CAPACITY].load(SeqCst))
    }

    /// Moves the head past `head`. Each side may do so once it sees that the entry there is not posted any more.
    pub(crate) fn pass(&self, head: u64) {
        let _ = self.0[RING_HEAD].compare_exchange(head, head + 1, SeqCst, SeqCst);
    }

    pub(crate) fn append(&self, key: RequestKey) {
        let tail = self.tail();
        self.0[RING_ENTRIES + tail as usize % RING_CAPACITY].store(key.entry(), SeqCst);
        self.0[RING_TAIL].store(tail + 1, SeqCst);
    }
}

/// Returns the time of CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
