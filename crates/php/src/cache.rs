//! The shared cache for C code, which passes and gets bytes.

mod claims;
mod convert;
mod entries;
mod many;
mod place;
mod values;

use cache::{Claim, Owner, Refused};
use php_sys as sys;

pub use place::{FindCache, find_cache_with, set_cache};
pub(crate) use place::{cache, with};

/// Bytes of the read buffer that are kept. A larger value stays until the next read, which then frees the buffer.
const KEPT_BUFFER: usize = 1 << 20;

/// Sets the bytes of memory that the decoded values of this process may take.
pub fn limit_cache_copies(bytes: u64) {
    // SAFETY: writes one number of the C side.
    unsafe { sys::hearth_cache_copies_limit(usize::try_from(bytes).unwrap_or(usize::MAX)) }
}

fn outcome(result: Result<bool, Refused>) -> i32 {
    match result {
        Ok(true) => sys::HEARTH_CACHE_YES,
        Ok(false) => sys::HEARTH_CACHE_NO,
        Err(Refused::TooLarge { .. }) => sys::HEARTH_CACHE_TOO_LARGE,
        Err(Refused::Full) => sys::HEARTH_CACHE_FULL,
        Err(Refused::LockTimeout) => sys::HEARTH_CACHE_LOCK_TIMEOUT,
        Err(Refused::NotInt) => sys::HEARTH_CACHE_NOT_INT,
        Err(Refused::Overflow) => sys::HEARTH_CACHE_OVERFLOW,
        Err(Refused::Key) => sys::HEARTH_CACHE_BAD_KEY,
        Err(Refused::NotHeld) => sys::HEARTH_CACHE_NOT_HELD,
        Err(Refused::Away) => sys::HEARTH_CACHE_AWAY,
        Err(Refused::Denied) => sys::HEARTH_CACHE_DENIED,
    }
}

/// The running task, as an owner of locks in the cache.
pub(crate) fn owner() -> Owner {
    // SAFETY: reads a number of the task that runs.
    let task = unsafe { sys::hearth_current_task_id() };
    Owner::here(task as u32)
}

/// Returns whether the claim was taken, and sets `number`: the token if it was, else the owner that holds the claim.
pub(crate) fn is_taken(claim: Claim, number: &mut u64) -> bool {
    match claim {
        Claim::Taken(token) => {
            *number = token;
            true
        }
        Claim::Held(holder) => {
            *number = u64::from(holder.process) << 32 | u64::from(holder.task);
            false
        }
    }
}
