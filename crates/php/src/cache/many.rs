//! Reads, writes and deletes of several values of the shared cache at once.

use std::cell::RefCell;
use std::ffi::c_int;
use std::slice;

use cache::{Cache, Placed, Refused, Stored, Write};
use cache_link::Tiered;
use php_sys::{
    self as sys, hearth_cache_found, hearth_cache_validator, hearth_cache_write, hearth_str,
};

use super::convert::{GivenWrite, found_for_c, names, validator_for_c};
use super::place::with_tiers;
use super::{KEPT_BUFFER, outcome};
use crate::callbacks::arguments::FromC as _;

/// The result of the last read: bytes and validators.
#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    validators: Vec<hearth_cache_validator>,
}

thread_local! {
    static READ: RefCell<Buffers> = RefCell::default();
}

type Read = fn(Tiered<'_>, &[&[u8]], &mut Vec<u8>) -> Result<Vec<Option<Placed>>, Refused>;

/// Reads the values of `keys` into `out`, which is as long. Its pointers are valid until the next call.
fn read(read: Read, keys: &[&[u8]], out: &mut [hearth_cache_found]) -> c_int {
    with_tiers(|cache| {
        // Not borrowed during a wait: other tasks read, too.
        let mut buffers = READ.take();
        if buffers.bytes.capacity() > KEPT_BUFFER {
            buffers = Buffers::default();
        }
        let placed = read(cache, keys, &mut buffers.bytes);
        READ.with_borrow_mut(|place| {
            *place = buffers;
            place.give(&placed?, out);
            Ok(true)
        })
    })
}

impl Buffers {
    fn give(&mut self, placed: &[Option<Placed>], out: &mut [hearth_cache_found]) {
        self.validators.clear();
        for (found, _) in placed.iter().flatten() {
            self.validators
                .extend(found.validators.iter().map(validator_for_c));
        }
        let mut validators = &self.validators[..];
        for (placed, out) in placed.iter().zip(out) {
            let Some((found, range)) = placed else {
                out.encoding = sys::HEARTH_CACHE_NOTHING;
                continue;
            };
            let own;
            (own, validators) = validators.split_at(found.validators.len());
            *out = found_for_c(found, &self.bytes[range.clone()], own);
        }
    }
}

/// Writes several values and sets the outcome of each. With `whole`, none is written if one of them is invalid.
fn write(writes: &[Write<'_>], whole: bool, outcomes: &mut [c_int]) {
    let result = with_tiers(|cache| {
        if let Some((at, why)) = mistake(cache.memory(), writes).filter(|_| whole) {
            outcomes.fill(sys::HEARTH_CACHE_NO);
            outcomes[at] = outcome(Err(why));
            return Ok(true);
        }
        for (place, stored) in outcomes.iter_mut().zip(cache.write_many(writes)) {
            *place = outcome(stored.map(|stored| stored == Stored::Yes));
        }
        Ok(true)
    });
    if result != sys::HEARTH_CACHE_YES {
        outcomes.fill(result);
    }
}

fn mistake(cache: &Cache, writes: &[Write<'_>]) -> Option<(usize, Refused)> {
    let refused = |(at, write)| cache.check(write).err().map(|why| (at, why));
    writes.iter().enumerate().find_map(refused)
}

quick_callbacks! {
    fn hearth_on_cache_read_many(keys: *const hearth_str, count: usize, out: *mut hearth_cache_found) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call.
        let keys = unsafe { names(keys, count) };
        // SAFETY: C passes as many places, initialised.
        let out = unsafe { slice::from_raw_parts_mut(out, count) };
        read(|cache, keys, into| cache.read_many(keys, into), &keys, out)
    }

    fn hearth_on_cache_peek_many(keys: *const hearth_str, count: usize, out: *mut hearth_cache_found) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call.
        let keys = unsafe { names(keys, count) };
        // SAFETY: C passes as many places, initialised.
        let out = unsafe { slice::from_raw_parts_mut(out, count) };
        let peek: Read = |cache, keys, into| {
            into.clear();
            cache.memory().peek_many(keys, into)
        };
        read(peek, &keys, out)
    }

    fn hearth_on_cache_write_many(writes: *const hearth_cache_write, count: usize, whole: bool, outcomes: *mut c_int) {
        // SAFETY: C passes `count` writes.
        let writes = unsafe { slice::from_raw_parts(writes, count) };
        // SAFETY: C passes as many numbers, initialised.
        let outcomes = unsafe { slice::from_raw_parts_mut(outcomes, count) };
        // SAFETY: each is a write that C has filled, and its pointers live during the call.
        let given = writes.iter().map(|write| unsafe { GivenWrite::from_c(write) });
        let given: Vec<_> = given.collect();
        write(&given.iter().map(GivenWrite::write).collect::<Vec<_>>(), whole, outcomes);
    }

    fn hearth_on_cache_delete_many(keys: *const hearth_str, count: usize, deleted: *mut bool) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call.
        let keys = unsafe { names(keys, count) };
        // SAFETY: C passes as many flags, initialised.
        let deleted = unsafe { slice::from_raw_parts_mut(deleted, count) };
        with_tiers(|cache| {
            deleted.copy_from_slice(&cache.delete_many(&keys)?);
            Ok(true)
        })
    }

    fn hearth_on_cache_delete_tags(tags: *const hearth_str, count: usize, deleted: &mut usize) -> c_int {
        // SAFETY: C passes `count` names whose bytes live during the call.
        let tags = unsafe { names(tags, count) };
        with_tiers(|cache| {
            *deleted = cache.delete_tags(&tags)?;
            Ok(true)
        })
    }
}
