//! The layout of the shared memory in words of 8 bytes, and the meaning of the words.
//!
//! ```text
//! header      0 magic   8 the front: awake or asleep   16 last slot in the list of completions, + 1; 0: the list is empty
//! rings       two: head, tail, ring of entries (seq << 32 | slot); requests of the first ring are claimed first
//! sleeping    a bit for each consumer, set while its worker sleeps
//! consumers   0 closed   1 number of claims   2 last claim, in ns of CLOCK_MONOTONIC   3 requests that it has room for
//!             4 signals: changes by the front to requests that the worker has claimed   5 whether its thread runs
//! slots       0 state   1 next slot in the list of completions, as in the header   2 length of the bytes
//!             3 time of the claim, in ns of CLOCK_MONOTONIC   4 ns spent in PHP   5 ns on the processor, both if the worker
//!             publishes them   8.. the bytes
//! ```
//!
//! Words that different processes write are on different cache lines.

/// Whether this build is for the model (`tests/interleavings.rs`), which tries many orders of the same accesses in a memory
/// as small as possible.
const IS_MODEL: bool = cfg!(feature = "model");
/// Whether Miri runs this build; Miri checks each access, and touches all of the memory.
const IS_MIRI: bool = cfg!(miri);
/// Requests that can be posted or claimed at the same time. Slots that are never used take no memory.
pub const SLOTS: usize = if IS_MODEL {
    4
} else if IS_MIRI {
    128
} else {
    16_384
};
/// Workers of one front at the same time.
pub(crate) const MAX_WORKERS: usize = if IS_MODEL || IS_MIRI { 64 } else { 1024 };
/// Bytes of a request frame, or of a response frame, that fit in a slot.
pub const SLOT_CAPACITY: usize = (SLOT - SLOT_HEADER) * 8;

/// "HRELAY", then the version of this layout.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HRELAY\x04\x00");
pub(crate) const AT_MAGIC: usize = 0;
pub(crate) const AT_FRONT: usize = 8;
pub(crate) const AT_COMPLETIONS: usize = 16;

/// Entries of a ring. More than slots, because withdrawn requests stay in the ring until the head has passed them.
pub(crate) const RING_CAPACITY: usize = 4 * SLOTS;
pub(crate) const RING_WORDS: usize = 16 + RING_CAPACITY;
pub(crate) const RING_HEAD: usize = 0;
pub(crate) const RING_TAIL: usize = 8;
pub(crate) const RING_ENTRIES: usize = 16;
pub(crate) const AT_RINGS: usize = 24;
pub(crate) const RINGS: usize = 2;

pub(crate) const AT_SLEEPING: usize = AT_RINGS + RINGS * RING_WORDS;
pub(crate) const SLEEPING: usize = MAX_WORKERS / 64;

pub(crate) const CONSUMER_WORDS: usize = 8;
pub(crate) const CONSUMER_CLOSED: usize = 0;
pub(crate) const CONSUMER_CLAIMS: usize = 1;
pub(crate) const CONSUMER_SINCE: usize = 2;
pub(crate) const CONSUMER_CAPACITY: usize = 3;
pub(crate) const CONSUMER_SIGNALS: usize = 4;
pub(crate) const CONSUMER_RUNS: usize = 5;
pub(crate) const AT_CONSUMERS: usize = AT_SLEEPING + SLEEPING;

pub(crate) const SLOT: usize = if IS_MODEL {
    16
} else if IS_MIRI {
    256
} else {
    2048
};
pub(crate) const SLOT_HEADER: usize = 8;
pub(crate) const SLOT_STATE: usize = 0;
pub(crate) const SLOT_NEXT: usize = 1;
pub(crate) const SLOT_LENGTH: usize = 2;
pub(crate) const SLOT_SINCE: usize = 3;
pub(crate) const SLOT_PHP: usize = 4;
pub(crate) const SLOT_CPU: usize = 5;
pub(crate) const AT_SLOTS: usize = AT_CONSUMERS + MAX_WORKERS * CONSUMER_WORDS;

pub(crate) const WORDS: usize = AT_SLOTS + SLOTS * SLOT;

const _: () =
    assert!(IS_MODEL || IS_MIRI || (AT_SLEEPING | AT_CONSUMERS | AT_SLOTS).trailing_zeros() >= 3);

/// The state of a front that runs; it drains completions before it sleeps.
pub(crate) const AWAKE: u64 = 0;
/// The state of a front that sleeps; a worker that has a completion wakes it.
pub(crate) const ASLEEP: u64 = 1;

/// A slot's state: `seq << 32 | consumer << 16 | flags`; the state of a free slot is 0.
pub(crate) mod state {
    pub(crate) const POSTED: u64 = 1;
    pub(crate) const CLAIMED: u64 = 2;
    /// The slot's bytes are the response frame.
    pub(crate) const ANSWERED: u64 = 4;
    /// The worker has ended the request.
    pub(crate) const ENDED: u64 = 8;
    /// The slot is in the list of completions, or is being added to it.
    pub(crate) const LISTED: u64 = 16;
    /// The request is cancelled: its client no longer waits.
    pub(crate) const CANCELLED: u64 = 32;
    /// The response is held: its client reads more slowly than it comes, so the worker pauses it.
    pub(crate) const HELD: u64 = 64;

    pub(crate) fn posted(seq: u32) -> u64 {
        u64::from(seq) << 32 | POSTED
    }

    pub(crate) fn claimed(seq: u32, consumer: u16) -> u64 {
        u64::from(seq) << 32 | u64::from(consumer) << 16 | CLAIMED
    }

    pub(crate) fn seq(state: u64) -> u32 {
        (state >> 32) as u32
    }

    pub(crate) fn consumer(state: u64) -> u16 {
        (state >> 16) as u16
    }
}
