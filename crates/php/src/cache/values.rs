//! Reads, writes and deletes of one value of the shared cache.

use std::cell::RefCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;

use cache::Stored;
use php_sys::{hearth_cache_found, hearth_cache_validator, hearth_str};

use super::KEPT_BUFFER;
use super::convert::{GivenWrite, found_for_c, names, validator, validator_for_c};
use super::place::{at_hand, count_hit, with_tiers};

thread_local! {
    /// The result of the last read, which C code decodes at once.
    static READ: RefCell<(Vec<u8>, Vec<hearth_cache_validator>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Whether a copy is current: the fast path of every get, one load per sequence number and no lock.
#[inline]
fn is_current(validators: &[hearth_cache_validator], expires: u64) -> bool {
    let Some(cache) = at_hand() else {
        return false;
    };
    let current = cache.are_current(validators.iter().map(validator), expires);
    if current {
        count_hit(cache);
    }
    current
}

fn read(key: &[u8], out: &mut MaybeUninit<hearth_cache_found>) -> c_int {
    with_tiers(|cache| {
        // Not borrowed during a wait: other tasks read, too.
        let mut buffer = READ.with_borrow_mut(|(bytes, _)| std::mem::take(bytes));
        if buffer.capacity() > KEPT_BUFFER {
            buffer = Vec::new();
        }
        let read = cache.read(key, &mut buffer);
        READ.with_borrow_mut(|(bytes, validators)| {
            *bytes = buffer;
            let Some(found) = read? else {
                return Ok(false);
            };
            validators.clear();
            validators.extend(found.validators.iter().map(validator_for_c));
            out.write(found_for_c(&found, bytes, validators));
            Ok(true)
        })
    })
}

quick_callbacks! {
    fn hearth_on_cache_is_current(validators: *const hearth_cache_validator, count: usize, expires: u64) -> bool {
        // SAFETY: C passes `count` validators, at least one.
        is_current(unsafe { std::slice::from_raw_parts(validators, count) }, expires)
    }

    fn hearth_on_cache_read(key: &[u8], out: &mut MaybeUninit<hearth_cache_found>) -> c_int {
        read(key, out)
    }

    fn hearth_on_cache_write(write: GivenWrite<'_>) -> c_int {
        with_tiers(|cache| Ok(cache.write(&write.write())? == Stored::Yes))
    }

    fn hearth_on_cache_increment(by: GivenWrite<'_>, sum: &mut i64) -> c_int {
        with_tiers(|cache| {
            let write = by.write();
            *sum = cache.increment(write.int, &write)?;
            Ok(true)
        })
    }

    fn hearth_on_cache_delete(key: &[u8]) -> c_int {
        with_tiers(|cache| cache.delete(key))
    }

    fn hearth_on_cache_delete_tag(tag: &[u8]) -> c_int {
        with_tiers(|cache| cache.delete_tag(tag))
    }

    fn hearth_on_cache_clear() -> c_int {
        with_tiers(|cache| cache.clear().map(|()| true))
    }

    fn hearth_on_cache_tags(tags: *const hearth_str, count: usize, out: *mut hearth_cache_validator) -> c_int {
        // SAFETY: C passes `count` names that live during the call.
        let names = unsafe { names(tags, count) };
        // SAFETY: C passes room for as many validators, initialised.
        let out = unsafe { std::slice::from_raw_parts_mut(out, count) };
        with_tiers(|cache| {
            for (place, validator) in out.iter_mut().zip(&cache.tags(&names)?) {
                *place = validator_for_c(validator);
            }
            Ok(true)
        })
    }
}
