//! The shared cache as C code asks for it: bytes in, bytes out.

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

/// What was read last may be larger than that; its memory is then given back by the next read.
const KEPT_BUFFER: usize = 1 << 20;

/// How much memory the decoded values of this process may take.
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
        Err(Refused::Stuck) => sys::HEARTH_CACHE_STUCK,
        Err(Refused::NotInt) => sys::HEARTH_CACHE_NOT_INT,
        Err(Refused::Overflow) => sys::HEARTH_CACHE_OVERFLOW,
        Err(Refused::Key) => sys::HEARTH_CACHE_BAD_KEY,
        Err(Refused::NotHeld) => sys::HEARTH_CACHE_NOT_HELD,
        Err(Refused::Away) => sys::HEARTH_CACHE_AWAY,
        Err(Refused::Denied) => sys::HEARTH_CACHE_DENIED,
    }
}

/// The task that runs.
pub(crate) fn owner() -> Owner {
    // SAFETY: reads a number of the task that runs.
    let task = unsafe { sys::hearth_current_task_id() };
    Owner::here(task as u32)
}

/// Whether it was taken. `number` is its token then, else the owner that has it.
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
