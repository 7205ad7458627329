//! The shared cache and sessions, for C.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::slice;

use ::cache::Locked;
use php_sys::{
    hearth_cache_entry, hearth_cache_figure, hearth_cache_found, hearth_cache_mark,
    hearth_cache_write, hearth_str,
};

use crate::{cache, cache_many, session};

quick_callbacks! {
    fn hearth_on_cache_is_current(marks: *const hearth_cache_mark, count: usize, expires: u64) -> bool {
        // SAFETY: C passes `count` marks, at least one.
        cache::is_current(unsafe { slice::from_raw_parts(marks, count) }, expires)
    }

    fn hearth_on_cache_read(key: &[u8], out: &mut MaybeUninit<hearth_cache_found>) -> c_int {
        let (outcome, found) = cache::read(key);
        if let Some(found) = found {
            out.write(found);
        }
        outcome
    }

    fn hearth_on_cache_read_many(keys: *const hearth_str, count: usize, out: *mut hearth_cache_found) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call.
        let keys = unsafe { cache::names(keys, count) };
        // SAFETY: C passes as many places, initialised.
        cache_many::read(&keys, unsafe { slice::from_raw_parts_mut(out, count) })
    }

    fn hearth_on_cache_write_many(writes: *const hearth_cache_write, count: usize, outcomes: *mut c_int) {
        // SAFETY: C passes `count` writes.
        let writes = unsafe { slice::from_raw_parts(writes, count) };
        // SAFETY: C passes as many numbers, initialised.
        let outcomes = unsafe { slice::from_raw_parts_mut(outcomes, count) };
        // SAFETY: the pointers of each write live during the call.
        unsafe { cache_many::write(writes, outcomes) };
    }

    fn hearth_on_cache_delete_many(keys: *const hearth_str, count: usize, deleted: &mut usize) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call.
        cache_many::delete(&unsafe { cache::names(keys, count) }, deleted)
    }

    fn hearth_on_cache_write(write: &hearth_cache_write) -> c_int {
        // SAFETY: C passes a write whose pointers live during the call.
        unsafe { cache::write(write) }
    }

    fn hearth_on_cache_increment(write: &hearth_cache_write, sum: &mut i64) -> c_int {
        // SAFETY: as above.
        unsafe { cache::increment(write, sum) }
    }

    fn hearth_on_cache_delete(key: &[u8]) -> c_int {
        cache::delete(key)
    }

    fn hearth_on_cache_delete_tag(tag: &[u8]) -> c_int {
        cache::delete_tag(tag)
    }

    fn hearth_on_cache_clear() -> c_int {
        cache::clear()
    }

    fn hearth_on_cache_tags(tags: *const hearth_str, count: usize, out: *mut hearth_cache_mark) -> c_int {
        // SAFETY: C passes `count` names that live during the call.
        let names = unsafe { cache::names(tags, count) };
        // SAFETY: C passes room for as many marks, initialised.
        cache::tags(&names, unsafe { slice::from_raw_parts_mut(out, count) })
    }

    fn hearth_on_cache_claim(space: c_int, name: &[u8], owner: &[u8], time: u64, number: &mut u64) -> c_int {
        cache::claim(space, name, owner, time, number)
    }

    fn hearth_on_cache_token(space: c_int, name: &[u8], owner: &[u8], number: &mut u64) -> c_int {
        cache::token(space, name, owner, number)
    }

    fn hearth_on_cache_give_back(space: c_int, name: &[u8], token: u64) -> c_int {
        cache::give_back(space, name, token)
    }

    fn hearth_on_cache_extend(space: c_int, name: &[u8], token: u64, time: u64) -> c_int {
        cache::extend(space, name, token, time)
    }

    fn hearth_on_cache_holds(space: c_int, name: &[u8], token: u64) -> c_int {
        cache::holds(space, name, token)
    }

    fn hearth_on_cache_wait(key: &[u8]) -> c_int {
        cache::wait_for(key)
    }

    fn hearth_on_cache_count(event: c_int) {
        cache::count(event);
    }

    fn hearth_on_cache_now() -> u64 {
        cache::now()
    }

    fn hearth_on_cache_largest() -> usize {
        cache::largest()
    }

    fn hearth_on_cache_list(prefix: &[u8]) -> usize {
        cache::list(prefix)
    }

    fn hearth_on_cache_listed(at: usize) -> hearth_cache_entry {
        cache::listed(at)
    }

    fn hearth_on_cache_stats(out: *mut hearth_cache_figure, capacity: usize) -> usize {
        // SAFETY: C passes zeroed room for `capacity` figures.
        cache::stats(unsafe { slice::from_raw_parts_mut(out, capacity) })
    }

    fn hearth_on_session_lock(key: &[u8], number: &mut u64) -> c_int {
        session::lock(key, number)
    }

    fn hearth_on_session_unlock(key: &[u8], token: u64) -> c_int {
        session::unlock(Locked { key, token })
    }

    fn hearth_on_session_exists(key: &[u8]) -> c_int {
        session::exists(key)
    }

    fn hearth_on_session_read(key: &[u8], token: u64, seconds: i64, out: &mut hearth_str) -> c_int {
        session::read(Locked { key, token }, seconds, out)
    }

    fn hearth_on_session_write(key: &[u8], token: u64, data: &[u8], seconds: i64, evicted: &mut u64) -> c_int {
        session::write(Locked { key, token }, data, seconds, evicted)
    }

    fn hearth_on_session_touch(key: &[u8], token: u64, seconds: i64) -> c_int {
        session::touch(Locked { key, token }, seconds)
    }

    fn hearth_on_session_destroy(key: &[u8]) -> c_int {
        session::destroy(key)
    }

    fn hearth_on_session_collect(removed: &mut u64) -> c_int {
        session::collect(removed)
    }

    fn hearth_on_session_awaited() {
        session::awaited();
    }
}
