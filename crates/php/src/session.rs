//! Sessions in the shared cache, as C code asks for them.

use std::cell::RefCell;

use cache::{Cache, Claim, Counter, Locked};
use php_sys::hearth_str;

use crate::cache::{cache, owner, with};

thread_local! {
    /// What was read last: C code copies it at once.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Microseconds; what has no time left has the shortest.
fn time(seconds: i64) -> u64 {
    seconds.max(0).unsigned_abs().saturating_mul(1_000_000)
}

/// False: `number` is the owner that has it.
pub(crate) fn lock(key: &[u8], number: &mut u64) -> i32 {
    with(|cache| match cache.lock_session(key, owner())? {
        Claim::Taken(token) => {
            *number = token;
            Ok(true)
        }
        Claim::Held(holder) => {
            *number = u64::from(holder.process) << 32 | u64::from(holder.task);
            Ok(false)
        }
    })
}

pub(crate) fn unlock(session: Locked<'_>) -> i32 {
    with(|cache| cache.unlock_session(session))
}

pub(crate) fn exists(key: &[u8]) -> i32 {
    with(|cache| cache.has_session(key))
}

pub(crate) fn read(session: Locked<'_>, seconds: i64, out: &mut hearth_str) -> i32 {
    with(|cache| {
        READ.with_borrow_mut(|data| {
            let was_there = cache.read_session(session, time(seconds), data)?;
            *out = hearth_str::new(data);
            Ok(was_there)
        })
    })
}

pub(crate) fn write(session: Locked<'_>, data: &[u8], seconds: i64, evicted: &mut u64) -> i32 {
    with(|cache| {
        *evicted = cache.write_session(session, data, time(seconds))?;
        Ok(true)
    })
}

pub(crate) fn touch(session: Locked<'_>, seconds: i64) -> i32 {
    with(|cache| cache.touch_session(session, time(seconds)))
}

pub(crate) fn destroy(key: &[u8]) -> i32 {
    with(|cache| cache.destroy_session(key))
}

pub(crate) fn collect(removed: &mut u64) -> i32 {
    with(|cache| {
        *removed = cache.collect_sessions()?;
        Ok(true)
    })
}

pub(crate) fn awaited() {
    cache().inspect(|cache: &&Cache| cache.count(Counter::SessionsAwaited, 1));
}
