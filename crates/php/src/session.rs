//! Sessions in the shared cache, for C code.

use std::cell::RefCell;
use std::ffi::c_int;

use cache::{Counter, Locked};
use php_sys::hearth_str;

use crate::cache::{cache, is_taken, owner, with};

thread_local! {
    /// The session that was read last. C code copies it at once.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Converts seconds to microseconds; a negative time counts as zero.
fn time(seconds: i64) -> u64 {
    seconds.max(0).unsigned_abs().saturating_mul(1_000_000)
}

quick_callbacks! {
    fn hearth_on_session_lock(key: &[u8], number: &mut u64) -> c_int {
        with(|cache| Ok(is_taken(cache.lock_session(key, owner())?, number)))
    }

    fn hearth_on_session_unlock(key: &[u8], token: u64) -> c_int {
        with(|cache| cache.unlock_session(Locked { key, token }))
    }

    fn hearth_on_session_exists(key: &[u8]) -> c_int {
        with(|cache| cache.has_session(key))
    }

    fn hearth_on_session_read(key: &[u8], token: u64, seconds: i64, out: &mut hearth_str) -> c_int {
        with(|cache| {
            READ.with_borrow_mut(|data| {
                let was_there = cache.read_session(Locked { key, token }, time(seconds), data)?;
                *out = hearth_str::new(data);
                Ok(was_there)
            })
        })
    }

    fn hearth_on_session_write(key: &[u8], token: u64, data: &[u8], seconds: i64, evicted: &mut u64) -> c_int {
        with(|cache| {
            *evicted = cache.write_session(Locked { key, token }, data, time(seconds))?;
            Ok(true)
        })
    }

    fn hearth_on_session_touch(key: &[u8], token: u64, seconds: i64) -> c_int {
        with(|cache| cache.touch_session(Locked { key, token }, time(seconds)))
    }

    fn hearth_on_session_destroy(key: &[u8], token: u64) -> c_int {
        with(|cache| cache.destroy_session(key, (token != 0).then_some(token)))
    }

    fn hearth_on_session_collect(removed: &mut u64) -> c_int {
        with(|cache| {
            *removed = cache.collect_sessions()?;
            Ok(true)
        })
    }

    fn hearth_on_session_awaited() {
        if let Some(cache) = cache() {
            cache.count(Counter::SessionLockWaits, 1);
        }
    }
}
