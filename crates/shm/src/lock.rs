//! A lock in a shared mapping that survives its holder: the next holder after a kill learns that the last one died.
//!
//! It is a robust mutex of libc, because only the kernel knows that a process has died with a lock.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::mapping::Mapping;

/// The number of words of a lock.
pub const LOCK_WORDS: usize = 8;
/// How long to wait for a lock. A holder never blocks, so one that holds it longer was stopped from outside.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bits of a futex word, from the kernel's `linux/futex.h`.
const FUTEX_OWNER_DIED: u32 = 0x4000_0000;
const FUTEX_TID_MASK: u32 = 0x3fff_ffff;

const _: () = assert!(size_of::<libc::pthread_mutex_t>() <= LOCK_WORDS * 8);

/// The lock, held until this is dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    mapping: &'a Mapping,
    at: usize,
    /// Whether the last holder died, so that the protected data may be half-changed.
    abandoned: bool,
}

impl Guard<'_> {
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Notes that the data is repaired. Without this call, the next holder is told of the death too.
    pub fn repaired(&mut self) {
        if std::mem::take(&mut self.abandoned) {
            // SAFETY: it is held by this thread, and was initialized by `create_lock`.
            unsafe { libc::pthread_mutex_consistent(pointer(self.mapping, self.at)) };
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.abandoned {
            // Unlocking it in this state would make it unusable. A panic before the repair ends the process, and the next
            // holder is told.
            return;
        }
        // SAFETY: it is held by this thread, and was initialized by `create_lock`.
        unsafe { libc::pthread_mutex_unlock(pointer(self.mapping, self.at)) };
    }
}

fn pointer(mapping: &Mapping, at: usize) -> *mut libc::pthread_mutex_t {
    mapping[at..at + LOCK_WORDS].as_ptr().cast_mut().cast()
}

/// Makes these words a lock; called once, before another process has the mapping.
pub fn create_lock(mapping: &Mapping, at: usize) -> io::Result<()> {
    let mut attributes = MaybeUninit::uninit();
    let attributes = attributes.as_mut_ptr();
    let made = |result: i32| match result {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    };
    // SAFETY: `attributes` is memory of this function, as large as attributes are, which the call initializes.
    made(unsafe { libc::pthread_mutexattr_init(attributes) })?;
    // SAFETY: the attributes were initialized above, or this line is not reached.
    made(unsafe { libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED) })?;
    // SAFETY: the attributes are initialized until they are destroyed below.
    made(unsafe { libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST) })?;
    // SAFETY: the attributes are initialized; the words are mapped, as many as a mutex has, and no other process has them yet.
    made(unsafe { libc::pthread_mutex_init(pointer(mapping, at), attributes) })?;
    // SAFETY: the attributes are initialized, and not used after this; the mutex has what it needs of them.
    made(unsafe { libc::pthread_mutexattr_destroy(attributes) })
}

/// Takes the lock for as long as this thread lives. Returns false if another thread has it.
pub fn hold_for_life(mapping: &'static Mapping, at: usize) -> bool {
    // SAFETY: the words were made a lock by `create_lock`, and stay mapped for ever: the kernel writes there when the thread ends.
    unsafe { libc::pthread_mutex_trylock(pointer(mapping, at)) == 0 }
}

/// Returns whether the thread lives that has taken the lock with [`hold_for_life`]. Costs one load.
///
/// The first word of libc's robust mutex is the one that it shares with the kernel: the holder's thread id, and a bit that
/// the kernel sets when the holder has died.
#[inline]
pub fn is_held(mapping: &Mapping, at: usize) -> bool {
    let word = mapping[at].load(Ordering::Relaxed) as u32;
    word & FUTEX_TID_MASK != 0 && word & FUTEX_OWNER_DIED == 0
}

fn deadline() -> libc::timespec {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let until = since.unwrap_or_default() + TIMEOUT;
    libc::timespec {
        tv_sec: i64::try_from(until.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(until.subsec_nanos()),
    }
}

/// Takes the lock; `None` if another process holds it for seconds, or if it is unusable.
pub fn lock(mapping: &Mapping, at: usize) -> Option<Guard<'_>> {
    let pointer = pointer(mapping, at);
    // SAFETY: the words were made a lock by `create_lock`, and stay mapped as long as `mapping` is borrowed.
    let mut result = unsafe { libc::pthread_mutex_trylock(pointer) };
    if result == libc::EBUSY {
        // SAFETY: the same words; the time is on this stack until the call returns.
        result = unsafe { libc::pthread_mutex_timedlock(pointer, &deadline()) };
    }
    let abandoned = result == libc::EOWNERDEAD;
    (result == 0 || abandoned).then_some(Guard {
        mapping,
        at,
        abandoned,
    })
}
